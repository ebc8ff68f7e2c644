"""What an agent is told when it starts."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class AgentSettings:
    """`join` and `token` are only needed until the agent has its certificate."""

    address: str
    """The IP address that the console, clients and other shards reach this node by."""
    join: str | None = None
    """URL of the console."""
    token: str | None = None
    port: int = 9700
    state_dir: Path = Path("var/agent")
    memory: int | None = None
    """Bytes this node may give to shards; the machine's memory when None."""
    park: bool = False
    """Save and stop the shards when the agent is told to stop, start them again with it (the demo)."""
    engine: str = "valkey-server"
    """Name or path of the engine's binary."""
    proxy: str = ""
    """Name or path of the proxy's binary; looked for when empty."""
