"""Messages about load generators: a process of this node that puts load on a database and tells what it measured, line by line."""

from typing import Annotated, Literal

from pydantic import Field

from shardboard.agent.contract.base import Message, Reply

LoadId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Tool = Literal["shardboard-load", "memtier_benchmark"]
MOST_LINES = 600
"""In one reply."""


class StartLoad(Message):
    """One run of the generator. An id that is known already is not started again."""

    id: LoadId
    arguments: list[str]
    password: str = Field(default="", repr=False)
    """Reaches the process by its environment, never by its arguments; memtier_benchmark has no other way than these."""
    tls: bool = False
    """Whether the target wants it; its certificate is of the cluster's own authority."""
    tool: Tool = "shardboard-load"


class LoadState(Reply):
    """`absent`: nothing is known of it; `ended`: what it has written is complete."""

    id: LoadId
    state: Literal["running", "ended", "absent"]
    refused: str = ""
    """Why it could not be started."""


class ReadLoad(Message):
    """Lines of one load are numbered from 1."""

    id: LoadId
    after: int = Field(default=0, ge=0)
    wait: float = Field(default=0.0, ge=0.0, le=5.0)
    """Seconds to wait for a new line when there is none yet."""


class LoadLines(Reply):
    """The lines that come after, as many as fit, each a JSON object of the generator."""

    id: LoadId
    state: Literal["running", "ended", "absent"]
    lines: list[str]
    said: str = ""
    """The end of what an ended one wrote besides."""


class NamedLoad(Message):
    """One load by its id."""

    id: LoadId


class LoadReports(Reply):
    """The files that an ended load leaves; empty where it wrote none."""

    id: LoadId
    memtier_json: str = ""
    text: str = ""
