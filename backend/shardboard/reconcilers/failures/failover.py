"""Failover of primaries that are down: the loop that schedules it, and the stepper that performs it.

Valkey's built-in election remains the fallback. The console is faster because it does not wait for the node timeout: it sends
`CLUSTER FAILOVER FORCE`, which needs the votes of a majority of primaries, as soon as the loss is confirmed, and TAKEOVER only if
no majority is left to vote.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import FailoverParameters, Promotion, RequestedFailoverParameters
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName, StepStatus
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures import failover
from shardboard.domain.failures.failover import ObservedShard, PairWithoutPrimary
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.zones import NO_ZONES, Zones
from shardboard.domain.text import plural
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.reconcilers import load_database
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.placement.planned_failover import DatabaseView, HandoverRequest, HandoverResult, Handovers
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.reconcilers.retry_policy import record_failure, should_retry
from shardboard.state.alerting.events import record, record_for_action
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard, Shard
from shardboard.store.db import Store
from shardboard.valkey.replies import info_fields, info_number

DEADLINE = timedelta(seconds=120)
TIMEOUT_SECONDS = 1.5
"""Seconds within which a node must reply, so that it does not delay the failovers of others."""
RETRY_SECONDS = 0.2
"""Seconds between two attempts of a planned failover that could not be performed."""
VOTE_SECONDS = 0.3
"""Maximum duration of a vote; measured: 0.1 s."""

LastOffset = Callable[[int], float | None]
"""Returns the last reported replication offset of a shard; None if unknown."""


class FailoverLoop(PollingLoop):
    """Schedules a failover for each active database with a pair that has no living primary but a replica to promote."""

    changes = frozenset({"shard"})
    seconds = 2.0
    pause = 0.0

    async def is_due(self, session: AsyncSession) -> bool:
        if not await shards.any_down(session):
            return False
        outdated_bdbs = await nodes.outdated_bdbs(session)
        return any(promotable(rows) for uid, rows in (await _by_bdb(session)).items() if uid not in outdated_bdbs)

    async def act(self, session: AsyncSession) -> None:
        outdated_bdbs = await nodes.outdated_bdbs(session)
        for bdb_uid, rows in (await _by_bdb(session)).items():
            if bdb_uid in outdated_bdbs:  # a primary without a row may serve: promoting a replica would take its slots
                continue
            bdb = await bdbs.by_uid(session, bdb_uid)
            broken = promotable(rows)
            if bdb is None or bdb.status not in IN_SERVICE or not broken:
                continue
            attempts = await actions.list_attempts_for_bdb(session, bdb_uid, ActionName.FAILOVER)
            candidates_by_pair = [[pair.pair, pair.primary, *pair.candidates] for pair in broken]
            if any(action.status in OPEN_STATUSES for action in attempts):
                continue
            if not should_retry(attempts, ActionName.FAILOVER, candidates_by_pair):
                continue
            queue.enqueue(
                session,
                ActionName.FAILOVER,
                object_uid=bdb_uid,
                description=f"Fail over {plural(len(broken), 'shard')} of {bdb.name}",
                originator="system",
                deadline=DEADLINE,
                params=FailoverParameters(situation=candidates_by_pair),
            )


class Failover:
    """Failover of all broken pairs of one database at once. The plan is recomputed in each step, so the process can be killed at
    any line.

    The promoted replica and its lag in bytes are stored before the command is sent: a promoted replica accepts writes, and then the
    lag can no longer be determined.
    """

    def __init__(self, store: Store, agents: Agents, last_offset: LastOffset) -> None:
        self._store = store
        self._agents = agents
        self._last_offset = last_offset

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        async with self._store.read() as session:
            rows = await shards.list_for_bdb(session, action.object_uid)
        pairs = promotable(rows)
        method = failover.method(
            cluster=database.engine.cluster,
            primaries=len({shard.pair for shard in database.shards}),
            lost=len(failover.broken_pairs(_members(rows))),  # lost primaries without a replica do not vote either
        )
        if method == "TAKEOVER" and not await self._is_majority():
            return Outcome(unreachable="most nodes are down or unreachable for this console", retry_in=1.0)
        references = {shard.uid: shard for shard in database.shards}
        parameters = FailoverParameters.parse(action)
        known = parameters.chosen
        primary_uids = {
            row.uid for row in rows if row.current_role == ShardRole.PRIMARY and row.observed_status != ShardStatus.DOWN
        }
        completed = [each for each in known if each.promoted in primary_uids]
        refused_uids = parameters.refused
        second = "TAKEOVER" if method == "FORCE" and refused_uids and await self._is_majority() else method
        chosen = [
            replace(each, method=second if each.promoted in refused_uids else method)
            for each in await self._plan(pairs, known, references)
        ]
        if (*completed, *chosen) != known:
            return Outcome(parameters=replace(parameters, chosen=(*completed, *chosen)), retry_in=0)
        if pairs and not chosen:
            return Outcome(unreachable="no replica responds", retry_in=0.2)
        await self._promote(chosen, references)
        promoted_uids = await self._await_promotion([references[each.promoted] for each in chosen])
        if len(promoted_uids) < len(pairs):
            steps = [{"name": f"Promote {len(pairs)} replicas ({method})", "status": StepStatus.RUNNING}]
            remaining = [each.promoted for each in chosen if each.promoted not in promoted_uids]
            refused_now = tuple(sorted({*refused_uids, *remaining}))
            return Outcome(steps=steps, parameters=replace(parameters, refused=refused_now), retry_in=0)
        return Outcome(finished=True, facts={"promoted": [*completed, *chosen]})

    async def _promote(self, chosen: Sequence[Promotion], references: dict[int, ShardRef]) -> None:
        """Send the commands, all at once.

        Two replicas that request votes at the same time can split the votes, so that neither gets a majority, and the engine does
        not request votes again for four node timeouts. A replica that failed once is therefore promoted with TAKEOVER: the loss of
        its primary is confirmed, and no other replica of its pair is promoted.
        """
        for method in dict.fromkeys(each.method for each in chosen):
            replicas = [references[each.promoted] for each in chosen if each.method == method]
            argv = ("REPLICAOF", "NO", "ONE") if method == "REPLICAOF" else ("CLUSTER", "FAILOVER", method)
            await valkey_cluster.command(self._agents, replicas, *argv, timeout=TIMEOUT_SECONDS)
            if method == "REPLICAOF":  # outside cluster mode the role is in the configuration file
                await valkey_cluster.command(self._agents, replicas, "CONFIG", "REWRITE", timeout=TIMEOUT_SECONDS)

    async def _is_majority(self) -> bool:
        """Return whether this console reaches a majority of nodes. TAKEOVER needs no votes, so it must not be sent from a minority
        partition.
        """
        async with self._store.read() as session:
            all_nodes = await nodes.list_all(session)
        return 2 * sum(node.health == NodeHealth.UP for node in all_nodes) >= len(all_nodes)

    async def _plan(
        self, broken: Sequence[PairWithoutPrimary], known: Sequence[Promotion], references: dict[int, ShardRef]
    ) -> list[Promotion]:
        """Return the previous choice for each broken pair if it can still be promoted, otherwise a new one."""
        candidates = {uid for pair in broken for uid in pair.candidates}
        unchanged = [each for each in known if each.promoted in candidates]
        settled_pairs = {each.pair for each in unchanged}
        return [
            *unchanged,
            *await self._choose([pair for pair in broken if pair.pair not in settled_pairs], references),
        ]

    async def _choose(self, broken: Sequence[PairWithoutPrimary], references: dict[int, ShardRef]) -> list[Promotion]:
        """Return for each pair the replica with the most data, and its lag behind the last reported offset of its primary."""
        candidates = [references[uid] for pair in broken for uid in pair.candidates]
        replies = await valkey_cluster.command(self._agents, candidates, "INFO", "replication", timeout=TIMEOUT_SECONDS)
        infos = {uid: info_fields(result.reply) for uid, result in replies.items() if result.ok}
        offsets = {uid: _offset(info) for uid, info in infos.items() if _has_complete_data(info)}
        at_risk = await self._in_lost_zones(broken, references)
        promotions = []
        for pair in broken:
            known_offsets = [(uid, offsets[uid]) for uid in pair.candidates if uid in offsets]
            if known_offsets:
                promoted_uid = failover.best(known_offsets, at_risk)
                primary_offset = self._last_offset(pair.primary)
                bytes_behind = None if primary_offset is None else max(0, int(primary_offset) - offsets[promoted_uid])
                promotions.append(Promotion(pair.pair, pair.primary, promoted_uid, bytes_behind))
        return promotions

    async def _in_lost_zones(self, broken: Sequence[PairWithoutPrimary], references: dict[int, ShardRef]) -> set[int]:
        """Return the candidates in the zone of the lost primary, of which other nodes may fail next, for pairs with a choice."""
        with_choice = [pair for pair in broken if len(pair.candidates) > 1 and pair.primary in references]
        if not with_choice:
            return set()
        async with self._store.read() as session:
            zones = {node.uid: node.zones for node in await nodes.list_all(session)}

        def zones_of_shard(uid: int) -> Zones:
            return zones.get(references[uid].node.uid, NO_ZONES)

        return {
            uid
            for pair in with_choice
            for uid in pair.candidates
            if not zones_of_shard(pair.primary).isdisjoint(zones_of_shard(uid))
        }

    async def _await_promotion(self, replicas: Sequence[ShardRef]) -> set[int]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + VOTE_SECONDS
        promoted_uids = await self._promoted(replicas)
        while len(promoted_uids) < len(replicas) and loop.time() < deadline:
            await asyncio.sleep(0.01)
            promoted_uids = await self._promoted(replicas)
        return promoted_uids

    async def _promoted(self, replicas: Sequence[ShardRef]) -> set[int]:
        replies = await valkey_cluster.command(self._agents, replicas, "INFO", "replication", timeout=TIMEOUT_SECONDS)
        return {uid for uid, result in replies.items() if result.ok and "role:master" in result.reply}

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        rows = {row.uid: row for row in await shards.list_for_bdb(session, action.object_uid)}
        age_seconds = (datetime.now(UTC) - action.created_at).total_seconds()
        is_requested = action.current_name == ActionName.SHARD_FAILOVER
        handover_times = RequestedFailoverParameters.parse(action).took if is_requested else {}
        promotions: Sequence[Promotion] = outcome.facts["promoted"]
        for each in promotions:
            promoted, lost = rows.get(each.promoted), rows.get(each.lost)
            if bdb is None or promoted is None or lost is None:
                continue
            seconds = handover_times.get(promoted.uid, age_seconds)
            promoted.role = ShardRole.PRIMARY
            promoted.set_role(ShardRole.PRIMARY, datetime.now(UTC))
            lost.role = lost.observed_role = ShardRole.REPLICA
            lost.should_regain_primary, promoted.should_regain_primary = not is_requested, False
            if is_requested:
                lost.set_role(ShardRole.REPLICA, datetime.now(UTC))
            record(
                session,
                "shard_failover",
                f"Replica redis:{promoted.uid} on node {promoted.node_uid} took over from redis:{lost.uid} of {bdb.name} "
                + (
                    f"in {seconds:.2f} s, requested by {action.originator}."
                    if is_requested
                    else _lag_message(seconds, each)
                ),
                source="shard",
                severity="INFO" if is_requested else "WARNING",
                originator=action.originator,
                bdb_uid=bdb.uid,
                node_uid=lost.node_uid,
                shard_uid=promoted.uid,
                action_uid=action.uid,
                details={
                    "pair": each.pair,
                    "lost": each.lost,
                    "promoted": each.promoted,
                    "bytes_behind": each.bytes_behind,
                    "method": each.method,
                    "seconds": seconds,
                },
            )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        message = f"Failover failed for some primaries: {reason}"
        await record_failure(session, action, "shard_failover_failed", message, reason, source="bdb")


class RequestedFailover(Failover):
    """Requested failover of living primaries: graceful unless forced."""

    def __init__(self, store: Store, agents: Agents, last_offset: LastOffset) -> None:
        super().__init__(store, agents, last_offset)
        self._handovers = Handovers(store, agents)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        record_for_action(
            session,
            action,
            "shard_failover_failed",
            f"{action.description}, requested by {action.originator}, failed: {reason}",
            severity="ERROR",
            details={"reason": reason, "attempts": 1},
        )

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        async with self._store.read() as session:
            rows = await shards.list_for_bdb(session, action.object_uid)
        references = {shard.uid: shard for shard in database.shards}
        parameters = RequestedFailoverParameters.parse(action)
        force, chosen = parameters.force, parameters.chosen
        if chosen is None:
            primary_rows = [
                row for row in rows if row.uid in parameters.shards and row.current_role == ShardRole.PRIMARY
            ]
            pairs = [PairWithoutPrimary(row.pair, row.uid, _replicas(rows, row.pair)) for row in primary_rows]
            new_promotions = await self._choose(pairs, references)
            if len(new_promotions) < len(pairs):
                return Outcome(unreachable="a replica does not respond", retry_in=0.2)
            method = "FORCE" if force else "graceful"
            chosen = tuple(replace(each, method=method) for each in new_promotions)
            return Outcome(parameters=replace(parameters, chosen=chosen), retry_in=0)
        promoted_uids = await self._promoted([references[each.promoted] for each in chosen])
        remaining = [each for each in chosen if each.promoted not in promoted_uids]
        if not remaining:
            return Outcome(finished=True, facts={"promoted": chosen})
        handover_requests = [HandoverRequest(references[each.promoted], references[each.lost]) for each in remaining]
        view = DatabaseView(
            action.object_uid, database.name, database.engine.cluster, database.primaries, len(database.shards)
        )
        handover = await self._handovers.attempt_next(
            action, view, handover_requests, parameters.failed_handovers, force=force
        )
        detail = next(iter(handover.wait_reasons.values()), "") if handover.attempted is None else ""
        step = {"name": action.description, "status": StepStatus.RUNNING, **({"detail": detail} if detail else {})}
        return Outcome(
            progress=100.0 * (len(chosen) - len(remaining)) / len(chosen),
            steps=[step],
            parameters=replace(
                parameters,
                failed_handovers={**parameters.failed_handovers, **handover.failed},
                took={**parameters.took, **_handover_times(handover)},
            ),
            unreachable=handover.obstacle if handover.attempted is None else "",
            retry_in=0 if handover.seconds is not None else RETRY_SECONDS,
        )


def _handover_times(result: HandoverResult) -> dict[int, float]:
    """Return the duration in seconds by promoted replica, for their events."""
    if result.attempted is None or result.seconds is None:
        return {}
    return {result.attempted.uid: result.seconds}


def _replicas(rows: Sequence[Shard], pair: int) -> tuple[int, ...]:
    return tuple(
        row.uid
        for row in rows
        if row.pair == pair and row.current_role == ShardRole.REPLICA and row.observed_status == ShardStatus.OK
    )


def promotable(rows: Sequence[ReadShard]) -> list[PairWithoutPrimary]:
    """Return broken pairs that have a replica to promote."""
    return [pair for pair in failover.broken_pairs(_members(rows)) if pair.candidates]


def _members(rows: Sequence[ReadShard]) -> list[ObservedShard]:
    return [ObservedShard(row.uid, row.pair, row.current_role, row.observed_status) for row in rows]


async def _by_bdb(session: AsyncSession) -> dict[int, list[ReadShard]]:
    shards_by_bdb: dict[int, list[ReadShard]] = defaultdict(list)
    for row in await shards.list_conditions(session):
        shards_by_bdb[row.bdb_uid].append(row)
    return shards_by_bdb


def _offset(info: Mapping[str, str]) -> int:
    return info_number(info, "slave_repl_offset" if "slave_repl_offset" in info else "master_repl_offset")


def _has_complete_data(info: Mapping[str, str]) -> bool:
    """Return whether a replica has a complete data set. One that never synchronized has none, and one in a full sync is about to
    delete its data; the engine would promote both.
    """
    return info.get("master_sync_in_progress") != "1" and info.get("master_link_down_since_seconds") != "-1"


def _lag_message(seconds: float, promotion: Promotion) -> str:
    bytes_behind = promotion.bytes_behind
    # The primary may have written more after its last sample, so the reported lag is a lower bound.
    loss = (
        "it had all data that its primary last reported"
        if bytes_behind == 0
        else f"it lacked {bytes_behind} bytes that its primary last reported"
    )
    return f"{seconds:.2f} s after the loss; {'its replication lag is unknown' if bytes_behind is None else loss}."
