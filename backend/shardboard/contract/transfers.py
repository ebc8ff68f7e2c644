"""Messages about transfers: processes on a node that copy data between its shards and a location, or work on files of a location.

A transfer is started once, survives the agent, and keeps its result until it is removed. It only touches shards of the node
on which it runs.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from shardboard.contract.base import Count, Hex40, Hex64, Message, Name, Reply, Text
from shardboard.contract.locations import Location

TransferId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Path = Annotated[str, Field(min_length=1, max_length=1_024, pattern=r"^[^/\x00-\x1f][^\x00-\x1f]*$")]
"""Path of a file below the location, without `..`; parts are separated by `/`."""
SlotRanges = Annotated[list[tuple[int, int]], Field(max_length=16_384)]
"""First and last slot of each range."""
PublicKeys = Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=16)]
"""Keys in the age format (`kit/age_keys.py`). Files are encrypted for all of them; empty: not encrypted."""
PrivateKeys = Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=64, repr=False)]
"""Keys that decrypt files. Not in logs, process arguments or environments."""
MAX_TRANSFERS = 1_000
"""Per request."""
MAX_FILE_CHARACTERS = 2**24
"""Size of a file that is written or read as text: a manifest."""
MAX_RESULT_FIELDS = 100
MAX_NAMES = 10_000
"""Types, function libraries or reasons in a result."""


class Snapshot(Message):
    """Writes a snapshot of one shard to a file. Nothing is visible under its name before it is complete.

    Result: `SnapshotResult`.
    """

    kind: Literal["snapshot"] = "snapshot"
    location: Location
    path: Path
    shard_uid: int
    engine_id: Hex40
    slots: SlotRanges
    """Keys of other slots are left out. All slots outside cluster mode."""
    compression: Literal["zstd", "gzip"] = "zstd"
    pace: Literal["gentle", "fast"] = "gentle"
    """Whether the rate follows the CPU time that clients leave, or is only limited by `max_bytes_per_second`."""
    max_bytes_per_second: int | None = Field(default=None, ge=1)
    """Of uncompressed data of all snapshots of the node together."""
    recipients: PublicKeys = Field(default=[])


class Record(Message):
    """Records the changes of one shard: follows its replication stream, and writes it to files in `folder`, one after another.

    It runs until it is stopped, which stores what it has received, or until it cannot continue. The names of the files contain
    their positions (`change_files.py`). Files of two attempts can overlap, but have the same content at the same offsets.

    Result: `RecordResult`.
    """

    kind: Literal["record"] = "record"
    location: Location
    folder: Path
    shard_uid: int
    engine_id: Hex40
    replication_id: Hex40 | None = None
    offset: Count | None = None
    """Continue after this position. Without both: start at the present position of the shard."""
    segment_seconds: int = Field(ge=1, le=3_600)
    """How often a file is completed. Without changes, a file is written ten times less often."""
    recipients: PublicKeys = Field(default=[])


class RestoreTarget(Message):
    """A primary of this node that receives keys."""

    shard_uid: int
    engine_id: Hex40
    slots: SlotRanges


class RestoreFile(Message):
    """A file to restore from: RDB, uncompressed, or compressed with zstd or gzip."""

    path: Path
    sha256: Hex64 | None = None
    """Of the stored file; None if unknown, for files that were not written by Shardboard."""
    changes: list[Path] = Field(default=[])
    """Files of `Record` in order, with changes that are made after the file has been restored. Only for restores."""
    changes_after: Count = 0
    """Offset of the file: changes up to this offset are part of it."""
    changes_until: Annotated[int, Field(ge=0)] = 0
    """Unix time in ms: later changes are left out. 0: none are."""
    changes_slots: SlotRanges = Field(default=[])
    """Slots of the file; empty: all slots of the targets. Other keys in these slots are deleted before it is restored, and changes
    such as FLUSHALL are limited to them.
    """


class Restore(Message):
    """Writes keys of files to primaries of this node. Existing keys are replaced; keys of slots of other primaries are left out.

    Result: `RestoreResult`.
    """

    kind: Literal["restore"] = "restore"
    location: Location
    files: list[RestoreFile] = Field(min_length=1)
    targets: list[RestoreTarget] = Field(min_length=1)
    """Of one database."""
    key_patterns: list[str] = Field(default=[])
    """Glob patterns; only matching keys are restored. Empty: all keys."""
    identities: PrivateKeys = Field(default=[])


class Inspect(Message):
    """Reads files without restoring them. Result: `InspectResult`, summed over the files."""

    kind: Literal["inspect"] = "inspect"
    location: Location
    files: list[RestoreFile] = Field(min_length=1)
    identities: PrivateKeys = Field(default=[])


class CheckFiles(Message):
    """Reads files that a restore needs, before it deletes keys: completely if `sha256` is not empty, otherwise their beginning.
    Files with recorded changes contain a checksum. Fails if one is not readable, cannot be decrypted, is not an RDB file, or has
    another checksum, or if the node has no mover. Result: `{}`.
    """

    kind: Literal["check_files"] = "check_files"
    location: Location
    paths: list[Path] = Field(min_length=1)
    sha256: dict[Path, Hex64] = Field(default={})
    """Checksums of stored files by path. Files with recorded changes have none."""
    only_checksums: bool = False
    """Read the files completely, but only compare their checksums. They can be of any format, and are not decrypted."""
    identities: PrivateKeys = Field(default=[])


class WriteFile(Message):
    """Writes a text file. Result: `{"sha256": …}`; `{}` of agents of earlier releases."""

    kind: Literal["write_file"] = "write_file"
    location: Location
    path: Path
    text: Annotated[str, Field(max_length=MAX_FILE_CHARACTERS)]
    expected: dict[str, int] = Field(default={})
    """Paths and sizes of files in the same folder. Fails if one is missing, because this node has mounted another folder."""


class ReadFile(Message):
    """Reads a text file. Result: `{"text": …}`."""

    kind: Literal["read_file"] = "read_file"
    location: Location
    path: Path


class ListFiles(Message):
    """Lists files below a folder, sorted by path. Result: `{"files": [{"path", "bytes", "modified"}], "truncated": bool}`."""

    kind: Literal["list_files"] = "list_files"
    location: Location
    folder: Annotated[str, Field(max_length=1_024)] = ""
    suffix: Annotated[str, Field(max_length=255)] = ""
    """Only files whose path ends with this text."""
    after: Annotated[str, Field(max_length=1_024)] = ""
    """Only files whose path is greater: continues a truncated list."""


class DeleteFiles(Message):
    """Deletes these files in this order; files that do not exist are ignored. Result: `{}`."""

    kind: Literal["delete_files"] = "delete_files"
    location: Location
    paths: list[Path]


class CheckLocation(Message):
    """Writes, reads, lists and deletes a small file; of a URL, reads the beginning. Result: `{"checks": [{"name", "ok", "error",
    "error_code"}]}`; the first failure ends it.
    """

    kind: Literal["check_location"] = "check_location"
    location: Location


Transfer = Annotated[
    Snapshot | Record | Restore | Inspect | CheckFiles | WriteFile | ReadFile | ListFiles | DeleteFiles | CheckLocation,
    Field(discriminator="kind"),
]


class StartTransfer(Message):
    """Starts a transfer. A known id is not started again."""

    id: TransferId
    transfer: Transfer


class TransferReferences(Message):
    """Selects transfers by id."""

    ids: list[TransferId] = Field(max_length=MAX_TRANSFERS)


class TransferProgress(Reply):
    """Progress of a running transfer."""

    bytes: Count = 0
    """Compressed, as in the location."""
    raw_bytes: Count = 0
    keys: Count = 0
    replication_id: Name = ""
    offset: Count = 0
    """Of recordings: end of the last stored file, after which another transfer can continue. Set as soon as it records."""
    recorded_until: Count = 0
    """Of recordings: Unix time in ms. All changes before are stored."""
    waiting_bytes: Count = 0
    """Of recordings: received, but not stored."""
    problem: Text = ""
    """Of recordings: why files cannot be stored at present. The transfer repeats it."""


ErrorCode = Literal[
    "no-permission",
    "wrong-file-path",
    "download-error",
    "upload-error",
    "file-corrupted",
    "wrong-key",
    "out-of-memory",
    "shard-unavailable",
    "stopped",
    "general-error",
]
"""The first two, `download-error`, `file-corrupted`, `out-of-memory` and `general-error` are codes of the Redis Enterprise REST
API."""


class TransferState(Reply):
    """`absent`: the transfer is unknown. `ended`: either `result` or `error` is set."""

    id: TransferId
    state: Literal["running", "ended", "absent"]
    progress: TransferProgress = TransferProgress()
    result: Annotated[dict[str, Any], Field(max_length=MAX_RESULT_FIELDS)] | None = None
    error: Text = ""
    """For users: what failed and why."""
    error_code: ErrorCode | Name = ""


class RecordResult(Reply):
    """Result of a recording: where it ended, and why."""

    replication_id: Name
    offset: Count
    """Another recording can continue after this position."""
    recorded_until: Count
    """Unix time in ms. All changes before are stored."""
    reason: Literal["stopped", "stream-lost", "copy-lost"]
    """`stream-lost`: the shard cannot send the changes after this position, or they cannot be replayed. `copy-lost`: the shard has
    stopped or cannot be reached.
    """
    details: Text = ""
    """For users: what happened."""


class SlotContents(Reply):
    """Keys of one slot. Equal contents have equal digests, regardless of encoding and order; expiry times are included."""

    slot: Annotated[int, Field(ge=0, le=16_383)]
    keys: Count
    digest: Name
    """16 hexadecimal digits: sum of the digests of its keys."""


class SnapshotResult(Reply):
    """Result of a snapshot or, summed over files, of an inspection; bytes as serialized."""

    bytes: Count
    raw_bytes: Count
    sha256: Hex64
    keys: Count
    expires: Count
    rdb_version: Annotated[int, Field(ge=0, le=9_999)]
    types: dict[Name, Count] = Field(default={}, max_length=MAX_NAMES)
    """Number of keys by type: string, list, set, zset, hash, stream, module."""
    functions: list[Name] = Field(default=[], max_length=MAX_NAMES)
    """Names of function libraries."""
    slots: list[SlotContents] = Field(default=[], max_length=16_384)
    analysis: dict[str, Any] = Field(default={}, max_length=MAX_RESULT_FIELDS)
    """Bytes by type and prefix, expiry times, largest keys."""
    replication_id: Name = ""
    replication_offset: Count = 0


class InspectResult(SnapshotResult):
    """Result of an inspection: also properties that decide which keys an import loses."""

    family: Name = ""
    """Engine that wrote the file: `redis` or `valkey`."""
    engine_version: Name = ""
    expired: Count = 0
    """Keys that had expired when they were read."""
    databases: dict[Name, Count] = Field(default={}, max_length=MAX_NAMES)
    """Number of keys by logical database."""
    modules: dict[Name, Count] = Field(default={}, max_length=MAX_NAMES)
    """Number of values of modules by the name of their type, except those of the flash module."""
    field_expiry: Count = 0
    """Hashes with expiry times of fields."""
    importing: Count = 0
    """Keys of slots that the shard was importing. They are not contained in the other numbers."""
    too_large: Count = 0
    """Values that cannot be divided and are too large for a command."""
    memory_bytes: Count = 0
    """Estimated memory that the keys need in an engine."""


class RestoreResult(Reply):
    """Result of a restore: numbers of keys."""

    restored: Count
    expired: Count
    """Keys that had expired when they were read."""
    skipped: Count
    """Keys of slots of other primaries, and keys that match no pattern."""
    unsupported: dict[Name, Count] = Field(default={}, max_length=MAX_NAMES)
    """Keys that the engine cannot load, by reason."""
    bytes: Count
    raw_bytes: Count
    functions: list[Name] = Field(default=[], max_length=MAX_NAMES)
    slots: list[SlotContents] = Field(default=[], max_length=16_384)
    """Of the restored keys, before changes are made to them."""
    replayed: Count = 0
    """Commands of recorded changes."""
