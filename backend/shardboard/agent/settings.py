"""What an agent is told when it starts."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class AgentSettings:
    """`join` and `token` are only needed until the agent has its certificate."""

    address: str
    """The IP address that the console, clients and other shards reach this node by."""
    join: str | None = None
    """URL of the console."""
    token: str | None = None
    token_file: Path | None = None
    """Where the token is in place of `token`."""
    port: int = 9700
    state_dir: Path = Path("var/agent")
    memory: int | None = None
    """Bytes this node may give to shards; the machine's memory when None."""
    flash: Path | None = None
    """Directory on a flash disk for the cold values of shards; None = this node takes no databases on flash."""
    flash_size: int | None = None
    """Bytes of it that shards may use; the size of its file system when None."""
    tier: str = ""
    """Path of the engine's module for flash; looked for when empty."""
    park: bool = False
    """Save and stop the shards when the agent is told to stop, start them again with it (the demo)."""
    engine: str = field(default_factory=lambda: os.environ.get("SHARDBOARD_ENGINE") or "valkey-server")
    """Name or path of the engine's binary; see `engine.engine_path` for where a name is looked for."""
    proxy: str = ""
    """Name or path of the proxy's binary; looked for when empty."""

    def read_token(self) -> str | None:
        """As its file has it now, if there is one."""
        if self.token_file is not None:
            with suppress(OSError, UnicodeDecodeError):
                return self.token_file.read_text().strip()
        return self.token
