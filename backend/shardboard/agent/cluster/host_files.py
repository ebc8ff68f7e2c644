"""Settings of this machine, read from /proc, /sys and /etc."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from shardboard.contract.cpu_pinning import parse_cores

Family = Literal["debian", "ubuntu", "rhel", "other"]
CONTAINER_MARKERS = (".dockerenv", "run/.containerenv")


@dataclass(frozen=True)
class HostFiles:
    """Files below `root`, which tests replace."""

    root: Path = Path("/")

    def text(self, path: str) -> str:
        """Return the content; empty if the file cannot be read."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return ""

    def selected_option(self, path: str) -> str:
        """Return the word in brackets, as in `always [madvise] never`."""
        return self.text(path).partition("[")[2].partition("]")[0]

    def glob(self, pattern: str) -> list[Path]:
        """Return the paths, relative to `root`."""
        return sorted(path.relative_to(self.root) for path in self.root.glob(pattern))

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory; empty if it cannot be read."""
        try:
            return sorted(path.name for path in (self.root / directory).iterdir())
        except OSError:
            return []

    def cores(self, path: str) -> frozenset[int]:
        """Return a list of cores; empty if the file cannot be read."""
        try:
            return parse_cores(self.text(path))
        except ValueError:
            return frozenset()

    @cached_property
    def programs(self) -> frozenset[str]:
        """Names of all running programs, of at most 15 characters."""
        return frozenset(self._program_names())

    def _program_names(self) -> Iterator[str]:
        for path in self.glob("proc/[0-9]*/comm"):
            yield self.text(str(path))

    @property
    def sees_all_programs(self) -> bool:
        """False in a container, which sees only its own processes."""
        return not any((self.root / marker).exists() for marker in CONTAINER_MARKERS)

    @property
    def family(self) -> Family:
        """The distribution, by its commands for packages and boot parameters."""
        fields = _shell_assignments(self.text("etc/os-release") or self.text("usr/lib/os-release"))
        names = {fields.get("ID", ""), *fields.get("ID_LIKE", "").split()}
        if "ubuntu" in names:
            return "ubuntu"
        if "debian" in names:
            return "debian"
        return "rhel" if names & {"rhel", "fedora", "centos"} else "other"


def _shell_assignments(text: str) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
