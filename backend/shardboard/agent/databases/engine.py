"""Path and version of the engine (valkey-server) that this agent runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


def engine_path(name: str) -> str | None:
    """Return the path of the engine binary; None if it does not exist.

    A bare name is looked up next to the running Python first, where the setup copies the engine that it built, then on PATH.
    """
    candidate = Path(sys.executable).parent / name
    if os.sep not in name and os.access(candidate, os.X_OK):
        return str(candidate)
    return shutil.which(name)


def engine_version(name: str) -> str:
    """Return the version that `valkey-server --version` prints, such as `9.1.2`, or "" if it cannot be run."""
    path = engine_path(name)
    return next((word[2:] for word in version_text(path).split() if word.startswith("v=")), "")


def version_text(path: str | None) -> str:
    """Return the output of a program's `--version`, or "" if there is no program or it cannot be run."""
    if path is None:
        return ""
    try:
        return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def supports_slot_stats(version: str) -> bool:
    """Return whether an engine can count CPU time and bytes per slot without risk. False for an unknown version.

    Valkey 8 has the setting, but a promoted replica of 8.0.1 then crashes with an assertion in `cluster_slot_stats.c`.
    """
    series = re.match(r"\d+", version)
    return series is not None and int(series[0]) >= 9


def supports_hash_seed(version: str) -> bool:
    """Return whether an engine has the setting `hash-seed`, which Valkey 9.1 introduced. False for an unknown version."""
    series = re.match(r"(\d+)\.(\d+)", version)
    return series is not None and (int(series[1]), int(series[2])) >= (9, 1)
