"""The shards of a database: how agents start and configure them, and how their state is read."""

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shardboard.contract import (
    APPLICATION_RIGHTS,
    BdbSpec,
    CommandResult,
    Peer,
    ShardCommand,
    ShardSpec,
    ShardTls,
    StartShards,
    TierSpec,
    canary,
    flush_rules,
    numbered_database_rules,
)
from shardboard.domain.databases.creation import ShardCondition
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.slots import Ranges
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError, AgentRefused
from shardboard.valkey.replies import ClusterLine, cluster_lines

BIG_CLUSTER = 128
"""Number of shards above which gossip becomes a significant load: an idle cluster of 512 shards uses 2.2 cores with default
settings."""


@dataclass(frozen=True)
class ShardRef:
    """One shard and its location."""

    uid: int
    node: NodeRef
    pair: int
    role: str
    slots: Ranges
    port: int
    bus_port: int
    engine_id: str
    engine_version: str = ""
    """Version of the running engine; empty if it is unknown."""


@dataclass(frozen=True)
class EngineSettings:
    """Engine settings that all shards of a database share."""

    uid: int
    cluster: bool
    admin_password: str
    client_passwords: Sequence[str]
    """Valid passwords of the default user; if empty, it needs no password."""
    default_user: bool
    memory: ShardMemory
    eviction_policy: str
    appendonly: bool
    appendfsync_always: bool
    save: Sequence[tuple[int, int]]
    maxclients: int
    io_threads: int = 1
    disabled_commands: Sequence[str] = ()
    """ACL rules that remove commands from all users, such as `-flushall`."""
    tls: ShardTls | None = None
    """None: connections between its shards are unencrypted."""
    next_admin_password: str = ""
    """The password that is replacing `admin_password`; empty if it is not being changed."""


async def start(
    agents: Agents, engine: EngineSettings, shards: Sequence[ShardRef], uids: Mapping[int, Sequence[int]]
) -> dict[int, str]:
    """Start the shards `uids` (by node) of a database with `shards`. Return error messages by uid of those that did not start."""
    spec = _bdb_spec(engine, shards)
    by_uid = {shard.uid: shard for shard in shards}
    nodes = {shard.node.uid: shard.node for shard in shards}
    requests = [
        agents.start(
            nodes[node_uid], StartShards(bdb=spec, shards=[_shard_spec(by_uid[uid], shards, engine) for uid in chosen])
        )
        for node_uid, chosen in uids.items()
    ]
    replies = await asyncio.gather(*requests)
    return {outcome.uid: outcome.reason for reply in replies for outcome in reply if not outcome.ok}


async def read_conditions(agents: Agents, shards: Sequence[ShardRef], *, cluster: bool) -> dict[int, ShardCondition]:
    """Return the state of the shards as reported by agents and engines. Shards that no agent has are missing."""
    conditions: dict[int, ShardCondition] = {}
    running: list[ShardRef] = []
    start_times: dict[int, float] = {}
    by_node = _by_node(shards)
    reports = await asyncio.gather(*(agents.shards(node) for node in by_node))
    for members, node_reports in zip(by_node.values(), reports, strict=True):
        reports_by_uid = {report.uid: report for report in node_reports}
        for shard in members:
            report = reports_by_uid.get(shard.uid)
            if report is None or report.engine_id != shard.engine_id:
                continue  # another shard has this uid: its database is newer than the backup of the store
            if report.state == "running":
                running.append(shard)
                start_times[shard.uid] = report.started_at or 0.0
            conditions[shard.uid] = ShardCondition(
                running=report.state == "running", died=report.detail if report.state == "died" else ""
            )
    states = await command(agents, running, "CLUSTER", "INFO") if cluster else {}
    links = await command(agents, running, "INFO", "replication")
    for shard in running:
        serves = not cluster or "cluster_state:ok" in _text(states.get(shard.uid))
        in_sync = shard.role == ShardRole.PRIMARY or "master_link_status:up" in _text(links.get(shard.uid))
        is_promoted = shard.role == ShardRole.REPLICA or "role:master" in _text(links.get(shard.uid))
        conditions[shard.uid] = ShardCondition(
            running=True, serves=serves, promoted=is_promoted, in_sync=in_sync, age=time.time() - start_times[shard.uid]
        )
    return conditions


async def promote_initial_primaries(agents: Agents, shards: Iterable[ShardRef]) -> dict[int, str]:
    """Promote shards that were started as replicas of their future replicas. Return error messages by uid of those that refused.

    TAKEOVER needs no votes. It is safe only for shards of a database that has never served.
    """
    results = await command(agents, shards, "CLUSTER", "FAILOVER", "TAKEOVER")
    return {uid: result.reply for uid, result in results.items() if not result.ok}


async def configure(agents: Agents, engine: EngineSettings, shards: Sequence[ShardRef], count: int) -> dict[int, str]:
    """Apply changeable settings to shards of a database with `count` shards, and store them in the engine's configuration files.
    Return error messages by uid of those that refused."""
    settings = {"maxmemory": str(engine.memory.ram), "maxmemory-policy": engine.eviction_policy}
    if (tier := engine.memory.tier) is not None:
        settings |= {"tier.ram-limit": str(tier.ram_limit), "tier.flash-limit": str(tier.flash_limit)}
    if engine.cluster:
        timeout, hz = engine_timings(count)
        settings |= {"cluster-node-timeout": str(timeout), "hz": str(hz)}
    flat = [word for pair in settings.items() for word in pair]
    threads = ("CONFIG", "SET", "io-threads", str(engine.io_threads))
    for argv in (threads, ("CONFIG", "SET", *flat), ("CONFIG", "REWRITE")):
        replies = await command(agents, shards, *argv)
        failures = {uid: result.reply for uid, result in replies.items() if not result.ok}
        if (
            argv == threads
        ):  # Valkey 8 applies a new number at its start only, so the shards are replaced for this change
            failures = {uid: reason for uid, reason in failures.items() if "immutable" not in reason}
        if failures:
            return failures
    return {}


async def apply_settings(
    agents: Agents, engine: EngineSettings, shards: Sequence[ShardRef], changed: Collection[str]
) -> dict[int, str]:
    """Apply persistence and access settings to running shards, without storing them in their files. `changed` contains the changed
    fields of the database. Return error messages by uid of those that refused.

    `maxclients` is applied only if it was changed, because a machine may refuse a value that the engine had reduced at its start.
    """
    settings = {
        "appendfsync": "always" if engine.appendfsync_always else "everysec",
        "save": " ".join(f"{seconds} {changes}" for seconds, changes in engine.save),
        "rdbcompression": "yes" if engine.appendonly or engine.save else "no",
    }
    if not engine.appendonly:  # switching it on takes time: driver/persistence.py
        settings["appendonly"] = "no"
    if "maxclients" in changed:
        settings["maxclients"] = str(engine.maxclients)
    commands = [
        (shards, ("CONFIG", "SET", *(word for pair in settings.items() for word in pair))),
        *((members, _default_user(engine, version)) for version, members in by_engine_version(shards).items()),
        (shards, canary.USER_COMMAND),
    ]
    if engine.save and "data_persistence" in changed:
        # otherwise a restart before the next snapshot would load an old file
        commands.append((shards, ("BGSAVE", "SCHEDULE")))
    for members, argv in commands:
        replies = await command(agents, members, *argv)
        if failures := {uid: result.reply for uid, result in replies.items() if not result.ok}:
            return failures
    return {}


def by_engine_version(shards: Iterable[ShardRef]) -> dict[str, list[ShardRef]]:
    """Group shards by the version of their engine."""
    by_version: dict[str, list[ShardRef]] = defaultdict(list)
    for shard in shards:
        by_version[shard.engine_version].append(shard)
    return by_version


def _default_user(engine: EngineSettings, engine_version: str) -> tuple[str, ...]:
    """Return the command that sets the user as at the start (`agent/databases/shard_config.py`), with hashed passwords. Rights are
    included because earlier versions gave more."""
    user = ("ACL", "SETUSER", "default")
    if not engine.default_user:
        return (*user, "off")
    # Start from no rights, so that a command that is no longer disabled is allowed again.
    commands = [
        *APPLICATION_RIGHTS.split(),
        *numbered_database_rules(engine_version),
        *engine.disabled_commands,
    ]
    rights = ["nocommands", "clearselectors", *commands, *flush_rules(commands, engine_version)]
    if not engine.client_passwords:
        return (*user, "on", "nopass", *rights)
    return (*user, "on", "resetpass", *(f"#{_digest(each)}" for each in engine.client_passwords), *rights)


async def newest_view(agents: Agents, primaries: Sequence[ShardRef]) -> dict[str, ClusterLine]:
    """Return the cluster by engine id as known to the primary with the newest epoch. Raises AgentRefused if there is none."""
    replies = await command(agents, primaries, "CLUSTER", "NODES")
    views = [cluster_lines(result.reply) for result in replies.values() if result.ok]
    if not views:
        raise AgentRefused("no primary returned its view of the cluster")
    return max(views, key=lambda each: max(line.epoch for line in each.values()))


async def start_new_shards(
    agents: Agents,
    engine: EngineSettings,
    shards: Sequence[ShardRef],
    primaries: Sequence[ShardRef],
    new_shards: Sequence[ShardRef],
    known: Mapping[str, ClusterLine],
) -> dict[int, str]:
    """Start `newcomers` of a database that is serving, as replicas of the current primaries of their pairs, or as primaries of
    pairs without slots. Return error messages by uid of those that did not start.

    They receive what is `known` of the cluster. For a pair without one of `primaries`, the desired state is used.
    """
    desired = {shard.pair: shard for shard in shards if shard.role == ShardRole.PRIMARY}
    primaries_by_pair = desired | {shard.pair: shard for shard in primaries}
    now = [
        replace(shard, role=ShardRole.PRIMARY if primaries_by_pair[shard.pair].uid == shard.uid else ShardRole.REPLICA)
        for shard in shards
    ]
    peers = [_present(peer, primaries_by_pair[shard.pair], known) for shard, peer in zip(now, _peers(now), strict=True)]
    spec = _bdb_spec(engine, now).model_copy(update={"peers": peers if engine.cluster else []})
    by_uid = {shard.uid: shard for shard in now}
    requests = [
        agents.start(
            node, StartShards(bdb=spec, shards=[_new_shard_spec(by_uid[shard.uid], now, engine) for shard in members])
        )
        for node, members in _by_node(new_shards).items()
    ]
    return {
        outcome.uid: outcome.reason for reply in await asyncio.gather(*requests) for outcome in reply if not outcome.ok
    }


def _present(peer: Peer, head: ShardRef, known: Mapping[str, ClusterLine]) -> Peer:
    """Set the slots and the epoch that the engines report. A new pair has no slots and a new unique epoch."""
    if not known:
        return peer
    line = known.get(head.engine_id)
    newest = max(each.epoch for each in known.values())
    slot_ranges = list(line.slots) if line is not None and peer.primary_engine_id is None else []
    epoch = line.epoch if line is not None else newest + 1 + head.pair
    return peer.model_copy(update={"slots": slot_ranges, "epoch": epoch})


def _new_shard_spec(shard: ShardRef, shards: Sequence[ShardRef], engine: EngineSettings) -> ShardSpec:
    # A primary without slots may start as primary: the two seconds in which it accepts no writes affect no clients.
    return _shard_spec(shard, shards, engine).model_copy(update={"swap_with": None})


async def command(
    agents: Agents, shards: Iterable[ShardRef], *argv: str, timeout: float = 60.0
) -> dict[int, CommandResult]:
    """Run one engine command on each of the shards in parallel and return results by uid.

    If a node does not respond within `patience` seconds, the command fails for the shards of this node only.
    """
    by_node = _by_node(shards)
    requests = [_on_node(agents, node, members, argv, timeout) for node, members in by_node.items()]
    return {result.uid: result for reply in await asyncio.gather(*requests) for result in reply}


async def _on_node(
    agents: Agents, node: NodeRef, members: Sequence[ShardRef], argv: Sequence[str], timeout: float
) -> list[CommandResult]:
    commands = [ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=list(argv)) for shard in members]
    try:
        async with asyncio.timeout(timeout):
            return await agents.command(node, commands)
    except TimeoutError:
        reason = f"node {node.uid} did not respond within {timeout:g} s"
    except AgentError as error:
        reason = error.reason
    return [CommandResult(uid=shard.uid, ok=False, reply=reason) for shard in members]


def _by_node(shards: Iterable[ShardRef]) -> dict[NodeRef, list[ShardRef]]:
    by_node: dict[NodeRef, list[ShardRef]] = defaultdict(list)
    for shard in shards:
        by_node[shard.node].append(shard)
    return by_node


def _digest(password: str) -> str:
    """Return a password hash in the engine's format."""
    return hashlib.sha256(password.encode()).hexdigest()


def _text(result: CommandResult | None) -> str:
    return result.reply if result is not None and result.ok else ""


def _bdb_spec(engine: EngineSettings, shards: Sequence[ShardRef]) -> BdbSpec:
    timeout, hz = engine_timings(len(shards))
    tier = engine.memory.tier
    return BdbSpec(
        uid=engine.uid,
        cluster=engine.cluster,
        peers=_peers(shards) if engine.cluster else [],
        admin_password=engine.admin_password,
        other_admin_passwords_sha256=[_digest(engine.next_admin_password)] if engine.next_admin_password else [],
        client_password=engine.client_passwords[0] if engine.client_passwords else "",
        other_passwords_sha256=[_digest(each) for each in engine.client_passwords[1:]],
        default_user=engine.default_user,
        disabled_commands=list(engine.disabled_commands),
        maxmemory=engine.memory.ram,
        tier=TierSpec(ram_limit=tier.ram_limit, flash_limit=tier.flash_limit) if tier is not None else None,
        eviction_policy=engine.eviction_policy,
        appendonly=engine.appendonly,
        appendfsync="always" if engine.appendfsync_always else "everysec",
        save=list(engine.save),
        node_timeout_ms=timeout,
        hz=hz,
        maxclients=engine.maxclients,
        io_threads=engine.io_threads,
        tls=engine.tls,
    )


class EngineTimings(NamedTuple):
    """Intervals of periodic work of the engines of a database."""

    node_timeout_ms: int
    hz: int


def engine_timings(count: int) -> EngineTimings:
    """Return the settings for a database of `count` shards. Engines send one message for each pair of shards in half the node
    timeout, so the cost of gossip grows with the square of the count; a longer timeout makes it linear."""
    return EngineTimings(max(60_000, 250 * count), 1) if count > BIG_CLUSTER else EngineTimings(5000, 10)


def _peers(shards: Sequence[ShardRef]) -> list[Peer]:
    primaries = {shard.pair: shard for shard in shards if shard.role == ShardRole.PRIMARY}
    return [
        Peer(
            engine_id=shard.engine_id,
            pair_id=_pair_id(primaries[shard.pair]),
            address=shard.node.addr,
            port=shard.port,
            bus_port=shard.bus_port,
            primary_engine_id=primaries[shard.pair].engine_id if shard.role == ShardRole.REPLICA else None,
            slots=list(shard.slots) if shard.role == ShardRole.PRIMARY else [],
            epoch=shard.pair + 1,  # unique among primaries; a replica has the epoch of its primary
        )
        for shard in shards
    ]


def _shard_spec(shard: ShardRef, shards: Sequence[ShardRef], engine: EngineSettings) -> ShardSpec:
    primary = None
    if shard.role == ShardRole.REPLICA and not engine.cluster:
        primary_shard = next(other for other in shards if other.pair == shard.pair and other.role == ShardRole.PRIMARY)
        primary = (primary_shard.node.addr, primary_shard.port)
    swap = shard.role == ShardRole.PRIMARY and engine.cluster and len(shards) <= BIG_CLUSTER
    replica = (
        next((other for other in shards if other.pair == shard.pair and other.role == ShardRole.REPLICA), None)
        if swap
        else None
    )
    return ShardSpec(
        uid=shard.uid,
        bdb_uid=engine.uid,
        engine_id=shard.engine_id,
        port=shard.port,
        bus_port=shard.bus_port,
        role=ShardRole.PRIMARY if shard.role == ShardRole.PRIMARY else ShardRole.REPLICA,
        primary=primary,
        swap_with=replica.engine_id if replica is not None else None,
    )


def _pair_id(primary: ShardRef) -> str:
    """Return Valkey's shard ID, shared by a primary and its replicas: derived, because any 40 hexadecimal digits are valid."""
    return hashlib.sha1(primary.engine_id.encode(), usedforsecurity=False).hexdigest()
