"""Messages about load generators: processes on this node that put load on a database and report measurements line by line."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from shardboard.contract.base import Message, RenamedFields, Reply, Text

LoadId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Tool = Literal["shardboard-load", "memtier_benchmark"]
MAX_LINES = 600
"""Maximum per reply."""
MAX_LINE_CHARACTERS = 2**20
MAX_REPORT_CHARACTERS = 2**25
"""A larger report is not sent."""
Report = Annotated[str, Field(max_length=MAX_REPORT_CHARACTERS)]


class StartLoad(Message):
    """Starts one run of a load generator. A known id is not started again."""

    id: LoadId
    arguments: list[str]
    password: str = Field(default="", repr=False)
    """The process receives it in its environment, never as an argument; only memtier_benchmark requires an argument."""
    tls: bool = False
    """Whether the target requires TLS; its certificate is from the cluster's private CA."""
    tool: Tool = "shardboard-load"


class LoadState(RenamedFields, Reply):
    """`absent`: the load is unknown; `ended`: its output is complete."""

    previous_names: ClassVar = {"error": "refused"}

    id: LoadId
    state: Literal["running", "ended", "absent"]
    error: Text = ""
    """Why it could not be started."""


class ReadLoad(Message):
    """Reads lines of a load. They are numbered from 1."""

    id: LoadId
    after: int = Field(default=0, ge=0)
    wait: float = Field(default=0.0, ge=0.0, le=5.0)
    """Seconds to wait for a new line if there is none yet."""


class LoadLines(RenamedFields, Reply):
    """The next lines, as many as fit, each a JSON object of the generator."""

    previous_names: ClassVar = {"stderr_tail": "said"}

    id: LoadId
    state: Literal["running", "ended", "absent"]
    lines: list[Annotated[str, Field(max_length=MAX_LINE_CHARACTERS)]] = Field(max_length=MAX_LINES)
    stderr_tail: Text = ""
    """End of the error output of an ended load."""


class LoadReference(Message):
    """Selects one load by its id."""

    id: LoadId


class LoadReports(Reply):
    """Report files of an ended load; empty if it wrote none."""

    id: LoadId
    memtier_json: Report = ""
    text: Report = ""
