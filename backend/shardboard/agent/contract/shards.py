"""Messages about shards: what to start, what became of it, commands for them."""

from typing import Literal

from pydantic import Field

from shardboard.agent.contract.base import Hex40, Hex64, Message, Port, Reply

EngineIds = dict[int, Hex40]
"""Engine id of each shard by uid. Uids can repeat when a store is restored from a backup; engine ids are random and never do.
A shard whose recorded engine id differs is treated as absent. A console of the release before sends none."""

APPLICATION_RIGHTS = "+@all -@admin -migrate -restore-asking -script|debug"
"""Of the engine's user `default`. Not its administration, which could read the password of replication and undo what the console
arranged, nor what `domain/acl_rules.py` keeps from all others, too."""


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
    """Where a replica outside cluster mode replicates from."""
    swap_with: Hex40 | None = None
    """For a primary: be born as the replica of this shard (its own future replica, not running yet), to be promoted with
    TAKEOVER. A process that starts as primary refuses writes for two seconds, one that is promoted does not."""


class ShardTls(Message):
    """What shards and proxies of one database prove to each other that they are of it. PEM."""

    authorities: str
    """One or more: while they are replaced, all count."""
    certificate: str
    key: str = Field(repr=False)


class TierSpec(Message):
    """Of a database on flash, per shard."""

    ram_limit: int
    """Bytes of memory above which values go to flash; 0 = all stay in RAM."""
    flash_limit: int
    """Bytes of values on flash; 0 = no limit."""


class BdbSpec(Message):
    """What the shards of one database have in common."""

    uid: int
    cluster: bool
    peers: list[Peer]
    admin_password: str
    other_admin_passwords_sha256: list[Hex64] = Field(default=[])
    """By which the shard lets agents and replicas in, too: the one that is being brought to the others in its place."""
    client_password: str
    """Of the engine's default user; empty = no password."""
    other_passwords_sha256: list[Hex64] = Field(default=[])
    """By which the default user gets in, too."""
    default_user: bool = True
    disabled_commands: list[str] = Field(default=[])
    """Rules that take commands away from the default user, such as `-flushall`."""
    maxmemory: int
    """Bytes per shard; 0 = unlimited."""
    tier: TierSpec | None = None
    """None for a database that is not on flash."""
    eviction_policy: str
    appendonly: bool
    appendfsync: Literal["always", "everysec"]
    save: list[tuple[int, int]]
    """Snapshot points: (seconds, changes)."""
    node_timeout_ms: int
    hz: int
    maxclients: int
    io_threads: int = Field(default=1, ge=1, le=128)
    """Of each shard, its main thread included."""
    tls: ShardTls | None = None
    """None: its shards speak in clear with each other and with proxies of other nodes."""


class StartShards(Message):
    """Starts new shards. A running shard with the same engine id is left alone; a dead one is never started again."""

    bdb: BdbSpec
    shards: list[ShardSpec]


class RestartShards(Message):
    """Starts dead shards again where they are, from what they have on disk; one that runs is left alone."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})
    discard_data: bool = False
    """Start empty, whatever is on disk. Without it, one that has nothing there is not started."""


class EndHung(Message):
    """Ends processes that do not answer, even when they are asked once more; one that answers, or that a signal has stopped, is
    left alone. Their files stay."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})


class RenewCertificates(Message):
    """From now on the shards of this database on this node prove themselves by other certificates. Connections stay."""

    bdb_uid: int
    engine_ids: list[Hex40] = Field(default=[])
    """The shards concerned. Empty: all shards with this `bdb_uid`, as requested by a console of the release before."""
    tls: ShardTls


class ChangePassword(Message):
    """From now on the agent commands the shards of this database on this node by another password, which they know already, and
    replicas use it with their primaries."""

    bdb_uid: int
    engine_ids: list[Hex40] = Field(default=[])
    """As in `RenewCertificates`."""
    password: str = Field(min_length=1, max_length=512, repr=False)


class RemoveShards(Message):
    """Ends the processes and deletes the files of shards, their data included."""

    uids: list[int]
    engine_ids: EngineIds = Field(default={})
    dead_only: bool = False
    """Refuse to touch a shard that runs: the caller believes it dead, and may be late."""


class ShardOutcome(Reply):
    uid: int
    ok: bool
    code: Literal["ok", "port_in_use", "binary_missing", "start_failed", "process_died", "not_removed", "no_data"] = (
        "ok"
    )
    reason: str = ""
    saved_at: float | None = None
    """Of a restart: when the data that it was started from were last written; epoch seconds."""


class ShardReport(Reply):
    """What the agent knows of a shard in its care."""

    uid: int
    bdb_uid: int
    engine_id: str
    state: Literal["starting", "running", "died"]
    pid: int | None
    started_at: float | None
    """Epoch seconds, from the kernel."""
    run_id: str
    detail: str = ""
    port: int | None = None
    bus_port: int | None = None
    memory: int = 0
    """Bytes that its database may use in it; 0 = unlimited or unknown."""
    flash: int = 0
    """Bytes of flash that its database may use in it."""


class ShardCommand(Message):
    """One engine command for one local shard, sent as the admin user."""

    uid: int
    engine_id: Hex40 | None = None
    """As in `EngineIds`."""
    argv: list[str] = Field(min_length=1)


class CommandResult(Reply):
    uid: int
    ok: bool
    reply: str = ""
    """Text of the reply, or of the error."""


class MoveSlots(Message):
    """Moves hash slots with their keys from a local primary to another one, for at most about `seconds`.

    What is under way when the time is over stays as it is, and goes on when the order is repeated. Slots that the target
    owns already count as moved."""

    uid: int
    """The source."""
    engine_id: Hex40 | None = None
    """Of the source, as in `EngineIds`."""
    target_engine_id: Hex40
    address: str
    """Of the target."""
    port: Port
    slots: list[tuple[int, int]]
    """First and last of each range."""
    seconds: float = Field(gt=0, le=20)
    fast: bool = False
    """Take no account of what clients notice."""


class SlotsMoved(Reply):
    """What one order has achieved."""

    count: int
    """How many slots, in the given order, belong to the target now; source and target have both agreed to that."""
    keys: int
    reason: str = ""
    """Why it ended before its time, when something was in the way."""
    rest: float = Field(default=0.0, ge=0.0, le=3600.0)
    """Seconds for which no shard of the database is to be told to move slots, so that clients hardly notice."""


class ProbeTarget(Message):
    """A shard of another node, to be asked whether it answers."""

    address: str
    port: Port
    tls: bool = False
    """Whether it speaks TLS only."""
