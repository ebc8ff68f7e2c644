"""The specification that an agent passes to the program on its standard input, and the files with which the program reports."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.contract.transfers import ErrorCode, Transfer

MOVER = "shardboard-mover"
PROGRESS, END, STDERR = "progress.json", "end.json", "stderr.log"
"""Files in the directory of a transfer. `progress.json` exists as soon as the specification is read; `end.json` is written last."""


IMPORTING = "importing.json"
"""File in this directory while shards are in import mode: their uids and engine ids."""


class ShardAccess(BaseModel):
    """How to connect to a shard of this node."""

    model_config = ConfigDict(frozen=True)

    socket: Path
    user: str
    password: str = Field(repr=False)


class Specification(BaseModel):
    """A transfer, and what its process needs on this node. Contains secrets."""

    model_config = ConfigDict(frozen=True)

    transfer: Transfer | SendFile | ReceiveFile
    shards: dict[int, ShardAccess] = Field(default={})
    """By uid."""
    mover: str = ""
    """Path of the program."""
    pace_file: Path | None = None
    """State of the rate that the snapshots of this node share. None: each has its own."""
    backup_roots: list[Path] = Field(default=[])
    """Folders below which locations of type `mount_point` are allowed."""
    private_folders: list[Path] = Field(default=[])
    """Folders that locations never contain, even below such a root: the agent's state."""
    pipe: int | None = None
    """Descriptor of the pipe to the agent, for file streams."""


class TransferEnd(BaseModel):
    """Content of `end.json`: fields of TransferState."""

    result: dict[str, object] | None = None
    error: str = ""
    error_code: ErrorCode | str = ""
