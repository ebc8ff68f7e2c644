"""Messages about shards: requests to start, change and remove them, their outcomes, and commands."""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from shardboard.contract.base import Count, Hex40, Hex64, Message, Name, Number, Port, RenamedFields, Reply, Text, Uid
from shardboard.contract.protocol import OLDEST_PROTOCOL

EngineIds = dict[int, Hex40]
"""Engine id of each shard by uid. Uids can repeat when a store is restored from a backup; engine ids are random and unique. A shard
whose recorded engine id differs is treated as absent. A console of the previous release sends none.
"""

APPLICATION_RIGHTS = "+@all -@admin -migrate -restore-asking -script|debug"
"""Rights of the engine's user `default`. They exclude administration, which could read the replication password and undo the
console's configuration, and what `domain/access/acl_rules.py` forbids for all users.
"""
_FLUSHALL_RULES = frozenset({"flushall", "@all", "@keyspace", "@write", "@slow", "@dangerous"})
"""The command FLUSHALL and its categories, as ACL rules name them."""


def known_rules(rules: Sequence[str], engine_version: str) -> list[str]:
    """Return ACL rules that this engine accepts: CLUSTERSCAN was introduced in Valkey 9.1, and earlier engines refuse its rule."""
    if _supports_database_rules(engine_version):
        return list(rules)
    return [rule.replace(" -clusterscan", "") for rule in rules if rule != "-clusterscan"]


def numbered_database_rules(engine_version: str) -> tuple[str, ...]:
    """Return the ACL rules that restrict users to database 0. Endpoints offer no other one, but scripts could select it.

    Valkey 9.1 introduced rules for databases. In earlier versions, a script can still copy keys to another database.
    """
    return ("db=0",) if _supports_database_rules(engine_version) else ("-select", "-move", "-swapdb")


def flush_rules(rules: Sequence[str], engine_version: str) -> tuple[str, ...]:
    """Return the selector that lets a user with these rules run FLUSHALL. Valkey 9.1 requires access to all databases for it."""
    if not _supports_database_rules(engine_version):
        return ()
    allowed = False
    for rule in rules:
        if rule in ("allcommands", "nocommands"):
            allowed = rule == "allcommands"
        elif rule[0] in "+-" and rule[1:] in _FLUSHALL_RULES:
            allowed = rule[0] == "+"
    return ("(+flushall alldbs)",) if allowed else ()


def _supports_database_rules(engine_version: str) -> bool:
    series = re.match(r"(\d+)\.(\d+)", engine_version)
    return series is not None and (int(series[1]), int(series[2])) >= (9, 1)


class Peer(Message):
    """One shard of the database as all its shards must know it: a line of `nodes.conf`."""

    engine_id: Hex40
    pair_id: Hex40
    """Valkey's shard-id: the same for a primary and its replicas."""
    address: str
    port: Port
    bus_port: Port
    primary_engine_id: Hex40 | None = None
    """None for a primary."""
    slots: list[tuple[int, int]] = Field(default=[])
    """First and last slot of each range of a primary."""
    epoch: int
    """Configuration epoch, unique among the primaries."""


class ShardSpec(Message):
    """Everything needed to start one shard."""

    uid: int
    bdb_uid: int
    engine_id: Hex40
    port: Port
    bus_port: Port
    role: Literal["master", "slave"]
    primary: tuple[str, Port] | None = None
    """Address and port of a replica's primary outside cluster mode."""
    swap_with: Hex40 | None = None
    """For a primary: start as the replica of this shard (its own future replica, not running yet), to be promoted with TAKEOVER. A
    process that starts as primary rejects writes for two seconds, a promoted one does not.
    """


class ShardTls(RenamedFields, Message):
    """Credentials (PEM) with which shards and proxies of one database authenticate to each other."""

    previous_names: ClassVar = {"cas": "authorities"}
    default_protocol: ClassVar = OLDEST_PROTOCOL
    """Requests, `shard.json` and the state of proxies contain the previous name, which the previous release needs."""

    cas: str
    """One or more CAs: during a replacement all are trusted."""
    certificate: str
    key: str = Field(repr=False)


class TierSpec(Message):
    """Flash limits of a database, per shard."""

    ram_limit: int
    """Bytes of memory above which values are moved to flash; 0 = all values stay in RAM."""
    flash_limit: int
    """Bytes of values on flash; 0 = no limit."""


class BdbSpec(Message):
    """Settings that all shards of one database share."""

    uid: int
    cluster: bool
    peers: list[Peer]
    admin_password: str
    other_admin_passwords_sha256: list[Hex64] = Field(default=[])
    """Other passwords that the shard accepts from agents and replicas: the new one while it is being distributed."""
    client_password: str
    """Password of the engine's default user; empty = no password."""
    other_passwords_sha256: list[Hex64] = Field(default=[])
    """Other passwords that the default user can use."""
    default_user: bool = True
    disabled_commands: list[str] = Field(default=[])
    """ACL rules that remove commands from the default user, such as `-flushall`."""
    maxmemory: int
    """Bytes per shard; 0 = unlimited."""
    tier: TierSpec | None = None
    """None for a database without flash."""
    eviction_policy: str
    appendonly: bool
    appendfsync: Literal["always", "everysec"]
    save: list[tuple[int, int]]
    """Snapshot points: (seconds, changes)."""
    node_timeout_ms: int
    hz: int
    maxclients: int
    io_threads: int = Field(default=1, ge=1, le=128)
    """Threads of each shard, including its main thread."""
    tls: ShardTls | None = None
    """None: unencrypted connections between its shards and from proxies of other nodes."""


class StartShards(Message):
    """Starts new shards. A running shard with the same engine id is not changed; a dead one is never restarted."""

    bdb: BdbSpec
    shards: list[ShardSpec]


class RestartShards(Message):
    """Restarts dead shards in place from their data on disk. Running shards are not changed."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})
    discard_data: bool = False
    """Start empty, ignoring data on disk. Without it, a shard that has no data on disk is not started."""


class KillHungShards(Message):
    """Kills processes that still do not reply when they are checked again. Processes that reply, or that a signal has stopped, are
    not killed. Their files stay.
    """

    uids: list[int]
    engine_ids: EngineIds = Field(default={})


class RenewCertificates(Message):
    """Replaces the certificates of this database's shards on this node. Open connections are kept."""

    bdb_uid: int
    engine_ids: list[Hex40] = Field(default=[])
    """The affected shards. Empty: all shards with this `bdb_uid`, for a console of the previous release."""
    tls: ShardTls


class ChangePassword(Message):
    """Makes the agent use another admin password for this database's shards on this node, and replicas use it with their primaries.
    The shards already accept it.
    """

    bdb_uid: int
    engine_ids: list[Hex40] = Field(default=[])
    """As in `RenewCertificates`."""
    password: str = Field(min_length=1, max_length=512, repr=False)


class RemoveShards(Message):
    """Kills the processes and deletes the files of shards, including their data."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})
    dead_only: bool = False
    """Do not touch a running shard: the caller believes it is dead, but may be wrong."""


class ShardOutcome(Reply):
    uid: Uid
    ok: bool
    code: Literal["ok", "port_in_use", "binary_missing", "start_failed", "process_died", "not_removed", "no_data"] = (
        "ok"
    )
    reason: Text = ""
    saved_at: Number | None = None
    """After a restart: when the data that it was started from was last written; epoch seconds."""


class ShardReport(Reply):
    """State of a shard that the agent supervises."""

    uid: Uid
    bdb_uid: Uid
    engine_id: Name
    state: Literal["starting", "running", "died"]
    pid: Count | None
    started_at: Number | None
    """Epoch seconds, from the kernel."""
    run_id: Name
    detail: Text = ""
    port: Port | None = None
    bus_port: Port | None = None
    memory: Count = 0
    """Bytes of memory that its database may use in it; 0 = unlimited or unknown."""
    flash: Count = 0
    """Bytes of flash that its database may use in it."""


class ShardCommand(Message):
    """One engine command for one local shard, sent as the admin user."""

    uid: int
    engine_id: Hex40 | None = None
    """As in `EngineIds`."""
    argv: list[str] = Field(min_length=1)


MAX_REPLY_CHARACTERS = 2**22
"""Characters of one engine reply. The longest that the console requests is CLUSTER NODES, 150 kB for a thousand shards."""


class CommandResult(Reply):
    uid: Uid
    ok: bool
    reply: str = Field(default="", max_length=MAX_REPLY_CHARACTERS)
    """Text of the reply or of the error."""


class MoveSlots(Message):
    """Moves hash slots with their keys from a local primary to another one, for at most about `seconds`.

    Unfinished moves stay as they are and continue when the request is repeated. Slots that the target already owns count as moved.
    """

    uid: int
    """The source."""
    engine_id: Hex40 | None = None
    """Of the source, as in `EngineIds`."""
    target_engine_id: Hex40
    address: str
    """Of the target."""
    port: Port
    slots: list[tuple[int, int]]
    """First and last slot of each range."""
    seconds: float = Field(gt=0, le=20)
    fast: bool = False
    """Ignore effects on clients."""


class SlotsMoved(RenamedFields, Reply):
    """Progress of one request."""

    previous_names: ClassVar = {"pause": "rest"}

    count: Annotated[int, Field(ge=0, le=16_384)]
    """How many slots, in the given order, belong to the target now; source and target have both confirmed that."""
    keys: Count
    reason: Text = ""
    """Why it ended early; empty if it did not."""
    pause: float = Field(default=0.0, ge=0.0, le=3600.0)
    """Seconds during which no shard of the database should move slots, to limit the effect on clients."""


class ProbeTarget(Message):
    """A shard of another node that is checked for a reply."""

    address: str
    port: Port
    tls: bool = False
    """Whether it only accepts TLS."""
