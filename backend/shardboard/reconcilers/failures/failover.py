"""Failover of primaries that are down: the loop that schedules it, and the stepper that performs it.

Valkey's own election remains the fallback. The console is faster because it does not wait for the node timeout: it sends
`CLUSTER FAILOVER FORCE`, which needs the votes of a majority of primaries, as soon as the loss is confirmed, and TAKEOVER only if
no majority is left to vote.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.domain.failures import failover
from shardboard.domain.failures.failover import ObservedShard, PairWithoutPrimary
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
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store
from shardboard.valkey.replies import info_fields, info_number

ACTION_NAME = actions.FAILOVER
REQUESTED_FAILOVER = "SMShardFailover"
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
        outdated = await nodes.outdated_bdbs(session)
        return any(promotable(rows) for uid, rows in (await _by_bdb(session)).items() if uid not in outdated)

    async def act(self, session: AsyncSession) -> None:
        outdated = await nodes.outdated_bdbs(session)
        for bdb_uid, rows in (await _by_bdb(session)).items():
            if bdb_uid in outdated:  # a primary without a row may serve: promoting a replica would take its slots
                continue
            bdb = await bdbs.by_uid(session, bdb_uid)
            found = promotable(rows)
            if bdb is None or bdb.status not in ("active", "active-change-pending") or not found:
                continue
            tries = await actions.list_attempts_for_bdb(session, bdb_uid, ACTION_NAME)
            situation = [[pair.pair, pair.primary, *pair.candidates] for pair in found]
            if any(action.status in actions.OPEN_STATUSES for action in tries):
                continue
            if not should_retry(tries, ACTION_NAME, situation):
                continue
            queue.enqueue(
                session,
                ACTION_NAME,
                object_uid=bdb_uid,
                description=f"Fail over {plural(len(found), 'shard')} of {bdb.name}",
                originator="system",
                deadline=DEADLINE,
                params={"situation": situation},
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
        broken = promotable(rows)
        method = failover.method(
            cluster=database.engine.cluster,
            primaries=len({shard.pair for shard in database.shards}),
            lost=len(failover.broken_pairs(_members(rows))),  # lost primaries without a replica do not vote either
        )
        if method == "TAKEOVER" and not await self._is_majority():
            return Outcome(unreachable="most nodes are down or unreachable for this console", retry_in=1.0)
        references = {shard.uid: shard for shard in database.shards}
        known: list[dict[str, Any]] = action.params.get("chosen", [])
        leading = {row.uid for row in rows if row.current_role == "master" and row.observed_status != "down"}
        done = [each for each in known if each["heir"] in leading]
        refused: list[int] = action.params.get("refused", [])
        second = "TAKEOVER" if method == "FORCE" and refused and await self._is_majority() else method
        chosen = [
            {**each, "method": second if each["heir"] in refused else method}
            for each in await self._plan(broken, known, references)
        ]
        if [*done, *chosen] != known:
            return Outcome(params={"chosen": [*done, *chosen]}, retry_in=0)
        if broken and not chosen:
            return Outcome(unreachable="no replica responds", retry_in=0.2)
        await self._promote(chosen, references)
        promoted = await self._await_promotion([references[each["heir"]] for each in chosen])
        if len(promoted) < len(broken):
            steps = [{"name": f"Promote {len(broken)} replicas ({method})", "status": "running"}]
            left = [each["heir"] for each in chosen if each["heir"] not in promoted]
            return Outcome(steps=steps, params={"refused": sorted({*refused, *left})}, retry_in=0)
        return Outcome(finished=True, facts={"promoted": [*done, *chosen]})

    async def _promote(self, chosen: Sequence[dict[str, Any]], references: dict[int, ShardRef]) -> None:
        """Send the commands, all at once.

        Two replicas that request votes at the same time can split the votes, so that neither gets a majority, and the engine does
        not request votes again for four node timeouts. A replica that failed once is therefore promoted with TAKEOVER: the loss of
        its primary is confirmed, and no other replica of its pair is promoted.
        """
        for method in dict.fromkeys(each["method"] for each in chosen):
            replicas = [references[each["heir"]] for each in chosen if each["method"] == method]
            argv = ("REPLICAOF", "NO", "ONE") if method == "REPLICAOF" else ("CLUSTER", "FAILOVER", method)
            await valkey_cluster.command(self._agents, replicas, *argv, timeout=TIMEOUT_SECONDS)
            if method == "REPLICAOF":  # outside cluster mode the role is in the configuration file
                await valkey_cluster.command(self._agents, replicas, "CONFIG", "REWRITE", timeout=TIMEOUT_SECONDS)

    async def _is_majority(self) -> bool:
        """Return whether this console reaches a majority of nodes. TAKEOVER needs no votes, so it must not be sent from a minority
        partition.
        """
        async with self._store.read() as session:
            everyone = await nodes.list_all(session)
        return 2 * sum(node.health == "up" for node in everyone) >= len(everyone)

    async def _plan(
        self, broken: Sequence[PairWithoutPrimary], known: Sequence[dict[str, Any]], references: dict[int, ShardRef]
    ) -> list[dict[str, Any]]:
        """Return the previous choice for each broken pair if it can still be promoted, otherwise a new one."""
        candidates = {uid for pair in broken for uid in pair.candidates}
        kept = [each for each in known if each["heir"] in candidates]
        settled = {each["pair"] for each in kept}
        return [*kept, *await self._choose([pair for pair in broken if pair.pair not in settled], references)]

    async def _choose(
        self, broken: Sequence[PairWithoutPrimary], references: dict[int, ShardRef]
    ) -> list[dict[str, Any]]:
        """Return for each pair the replica with the most data, and its lag behind the last reported offset of its primary."""
        candidates = [references[uid] for pair in broken for uid in pair.candidates]
        replies = await valkey_cluster.command(self._agents, candidates, "INFO", "replication", timeout=TIMEOUT_SECONDS)
        infos = {uid: info_fields(result.reply) for uid, result in replies.items() if result.ok}
        offsets = {uid: _offset(info) for uid, info in infos.items() if _has_complete_data(info)}
        chosen = []
        for pair in broken:
            known = [(uid, offsets[uid]) for uid in pair.candidates if uid in offsets]
            if known:
                promoted = failover.best(known)
                ahead = self._last_offset(pair.primary)
                behind = None if ahead is None else max(0, int(ahead) - offsets[promoted])
                chosen.append({"pair": pair.pair, "lost": pair.primary, "heir": promoted, "bytes_behind": behind})
        return chosen

    async def _await_promotion(self, replicas: Sequence[ShardRef]) -> set[int]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + VOTE_SECONDS
        promoted = await self._promoted(replicas)
        while len(promoted) < len(replicas) and loop.time() < deadline:
            await asyncio.sleep(0.01)
            promoted = await self._promoted(replicas)
        return promoted

    async def _promoted(self, replicas: Sequence[ShardRef]) -> set[int]:
        replies = await valkey_cluster.command(self._agents, replicas, "INFO", "replication", timeout=TIMEOUT_SECONDS)
        return {uid for uid, result in replies.items() if result.ok and "role:master" in result.reply}

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        rows = {row.uid: row for row in await shards.list_for_bdb(session, action.object_uid)}
        since = (datetime.now(UTC) - action.created_at).total_seconds()
        took: dict[str, float] = action.params.get("took", {})
        requested = action.name == REQUESTED_FAILOVER
        for each in outcome.facts["promoted"]:
            promoted, lost = rows.get(each["heir"]), rows.get(each["lost"])
            if bdb is None or promoted is None or lost is None:
                continue
            seconds = took.get(str(promoted.uid), since)
            promoted.role = "master"
            promoted.set_role("master", datetime.now(UTC))
            lost.role = lost.observed_role = "slave"
            lost.leads_again, promoted.leads_again = not requested, False
            if requested:
                lost.set_role("slave", datetime.now(UTC))
            record(
                session,
                "shard_failover",
                f"Replica redis:{promoted.uid} on node {promoted.node_uid} took over from redis:{lost.uid} of {bdb.name} "
                + (
                    f"in {seconds:.2f} s, requested by {action.originator}."
                    if requested
                    else _lag_message(seconds, each)
                ),
                source="shard",
                severity="INFO" if requested else "WARNING",
                originator=action.originator,
                bdb_uid=bdb.uid,
                node_uid=lost.node_uid,
                shard_uid=promoted.uid,
                action_uid=action.uid,
                details={**each, "seconds": seconds},
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
            details={"reason": reason, "tries": 1},
        )

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        async with self._store.read() as session:
            rows = await shards.list_for_bdb(session, action.object_uid)
        references = {shard.uid: shard for shard in database.shards}
        force = action.params["force"]
        if "chosen" not in action.params:
            leaving = [row for row in rows if row.uid in action.params["shards"] and row.current_role == "master"]
            pairs = [PairWithoutPrimary(row.pair, row.uid, _replicas(rows, row.pair)) for row in leaving]
            fresh = await self._choose(pairs, references)
            if len(fresh) < len(pairs):
                return Outcome(unreachable="a replica does not respond", retry_in=0.2)
            method = "FORCE" if force else "graceful"
            return Outcome(params={"chosen": [{**each, "method": method} for each in fresh]}, retry_in=0)
        chosen = action.params["chosen"]
        promoted = await self._promoted([references[each["heir"]] for each in chosen])
        left = [each for each in chosen if each["heir"] not in promoted]
        if not left:
            return Outcome(finished=True, facts={"promoted": chosen})
        wishes = [HandoverRequest(references[each["heir"]], references[each["lost"]]) for each in left]
        view = DatabaseView(
            action.object_uid, database.name, database.engine.cluster, database.primaries, len(database.shards)
        )
        turn = await self._handovers.attempt_next(action, view, wishes, force=force)
        detail = next(iter(turn.wait_reasons.values()), "") if turn.attempted is None else ""
        step = {"name": action.description, "status": "running", **({"detail": detail} if detail else {})}
        return Outcome(
            progress=100.0 * (len(chosen) - len(left)) / len(chosen),
            steps=[step],
            params={**turn.params, **_took(action, turn)},
            unreachable=turn.obstacle if turn.attempted is None else "",
            retry_in=0 if turn.seconds is not None else RETRY_SECONDS,
        )


def _took(action: Action, result: HandoverResult) -> dict[str, Any]:
    """Return the duration in seconds by promoted replica, for their events."""
    if result.attempted is None or result.seconds is None:
        return {}
    return {"took": {**action.params.get("took", {}), str(result.attempted.uid): result.seconds}}


def _replicas(rows: Sequence[Shard], pair: int) -> tuple[int, ...]:
    return tuple(
        row.uid for row in rows if row.pair == pair and row.current_role == "slave" and row.observed_status == "ok"
    )


def promotable(rows: Sequence[Shard]) -> list[PairWithoutPrimary]:
    """Return broken pairs that have a replica to promote."""
    return [pair for pair in failover.broken_pairs(_members(rows)) if pair.candidates]


def _members(rows: Sequence[Shard]) -> list[ObservedShard]:
    return [ObservedShard(row.uid, row.pair, row.current_role, row.observed_status) for row in rows]


async def _by_bdb(session: AsyncSession) -> dict[int, list[Shard]]:
    found: dict[int, list[Shard]] = defaultdict(list)
    for row in await shards.list_all(session):
        found[row.bdb_uid].append(row)
    return found


def _offset(info: Mapping[str, str]) -> int:
    return info_number(info, "slave_repl_offset" if "slave_repl_offset" in info else "master_repl_offset")


def _has_complete_data(info: Mapping[str, str]) -> bool:
    """Return whether a replica has a complete data set. One that never synchronized has none, and one in a full sync is about to
    delete its data; the engine would promote both.
    """
    return info.get("master_sync_in_progress") != "1" and info.get("master_link_down_since_seconds") != "-1"


def _lag_message(seconds: float, promotion: dict[str, Any]) -> str:
    behind = promotion["bytes_behind"]
    # The primary may have written more after its last sample, so the reported lag is a lower bound.
    loss = (
        "it had all data that its primary last reported"
        if behind == 0
        else f"it lacked {behind} bytes that its primary last reported"
    )
    return f"{seconds:.2f} s after the loss; {'its replication lag is unknown' if behind is None else loss}."
