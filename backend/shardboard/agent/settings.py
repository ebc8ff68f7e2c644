"""Start-up settings of an agent."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_BACKUP_ROOTS = "/media:/mnt:/srv:/var/backups"


def _backup_roots() -> tuple[Path, ...]:
    """Return the absolute paths of `SHARDBOARD_BACKUP_ROOTS`, separated by colons. Empty: none."""
    roots = map(Path, os.environ.get("SHARDBOARD_BACKUP_ROOTS", DEFAULT_BACKUP_ROOTS).split(os.pathsep))
    return tuple(root for root in roots if root.is_absolute())


@dataclass(frozen=True)
class AgentSettings:
    """`join` and `token` are only needed until the agent has its certificate."""

    address: str
    """IP address at which the console, clients and other shards reach this node."""
    join: str | None = None
    """URL of the console."""
    token: str | None = None
    token_file: Path | None = None
    """File with the token, instead of `token`."""
    port: int = 9700
    state_dir: Path = Path("var/agent")
    memory: int | None = None
    """Bytes of memory for shards on this node. None: the machine's memory."""
    flash: Path | None = None
    """Directory on a flash disk for the cold values of shards. None: this node accepts no databases on flash."""
    flash_size: int | None = None
    """Bytes of flash for shards. None: the size of the file system."""
    tier: str = ""
    """Path of the engine module for flash. Empty: use the installed one."""
    rack_id: str = ""
    """Zone of this node, stated when it joins. Empty: not stated."""
    park: bool = False
    """Save and stop the shards when the agent stops, and start them again with it (used by the demo)."""
    engine: str = field(default_factory=lambda: os.environ.get("SHARDBOARD_ENGINE") or "valkey-server")
    """Name or path of the engine binary; see `engine.engine_path` for how a name is resolved."""
    proxy: str = ""
    """Name or path of the proxy binary. Empty: use the installed one."""
    backup_roots: tuple[Path, ...] = field(default_factory=_backup_roots)
    """Folders below which storage locations of type `mount_point` are allowed."""

    def read_token(self) -> str | None:
        """Return the join token, from its current file content if a file is configured."""
        if self.token_file is not None:
            with suppress(OSError, UnicodeDecodeError):
                return self.token_file.read_text().strip()
        return self.token
