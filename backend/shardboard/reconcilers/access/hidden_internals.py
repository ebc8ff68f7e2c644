"""Denies CLUSTER and INFO on shards to the default users of databases (`domain/access/internals.py`).

This requires that the proxies of all nodes send INFO with the section that users may run. Proxies of an earlier release do not,
nor do proxies that send no canary writes. Rights of other users follow from the same column (`state/access/acl_users.py`), and
those of the default user on new shards, too (`reconcilers/load_database.py`).
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.internals import SHOWN, hiding_rules
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

TIMEOUT_SECONDS = 5.0
CHECK_SECONDS = 30.0
"""Seconds between two checks of all shards. Shards that start have the rights from the beginning."""

Processes = Mapping[int, tuple[int, ShardRef, object]]
"""Database, shard, and process of each living shard, by uid."""


class DefaultUsers:
    """Changes the rights of the default users of databases to those that the store requires."""

    def __init__(self, store: Store, agents: Agents, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._agents = agents
        self._clock = clock
        self._known: dict[int, tuple[object, tuple[str, ...]]] = {}
        """By uid of the shard: its process, and the rules that were added there."""
        self._rules: dict[int, tuple[str, ...]] = {}
        """By uid of the database."""
        self._due = 0.0

    async def sweep(self, load_processes: Callable[[AsyncSession], Awaitable[Processes]]) -> None:
        """Update the column and, if shards may differ from it, the shards."""
        async with self._store.read() as session:
            outdated, rules = await _rules(session)
        if outdated:
            async with self._store.begin() as session:
                # Stored before it is applied, so that a console that is killed in between continues.
                for bdb in (await _rules(session))[0]:
                    bdb.hides_internals = not bdb.hides_internals
                await session.flush()
                _, rules = await _rules(session)
        if rules == self._rules and self._clock() < self._due:
            return
        self._rules, self._due = rules, self._clock() + CHECK_SECONDS
        processes: Processes = {}
        if any(rules.values()):
            async with self._store.read() as session:
                processes = await load_processes(session)
        self._known = {uid: known for uid, known in self._known.items() if uid in processes}
        differing: dict[tuple[str, ...], list[ShardRef]] = {}
        for uid, (bdb_uid, shard, identity) in processes.items():
            if (added := rules.get(bdb_uid, ())) and self._known.get(uid) != (identity, added):
                differing.setdefault(added, []).append(shard)
        for added, shards in differing.items():
            for uid in await _apply(self._agents, shards, added):
                self._known[uid] = (processes[uid][2], added)


async def _rules(session: AsyncSession) -> tuple[list[Bdb], dict[int, tuple[str, ...]]]:
    """Return the databases whose column is outdated, and the rules of each default user by uid of the database."""
    policy = (await clusters.load(session)).rules
    machines = await nodes.list_all(session)
    is_possible = bool(machines) and all(node.facts.get("hides_internals", False) for node in machines)
    desired = is_possible and policy.canary_writes_per_second > 0
    in_service = [bdb for bdb in await bdbs.list_all(session) if bdb.status in IN_SERVICE]
    outdated = [bdb for bdb in in_service if bool(bdb.hides_internals) != desired]
    return outdated, {bdb.uid: _default_user_rules(bdb) for bdb in in_service}


def _default_user_rules(bdb: Bdb) -> tuple[str, ...]:
    """Return the rules to add to the default user; empty if they were never changed."""
    if bdb.hides_internals is None:
        return ()
    return hiding_rules(bdb.info_sections) if bdb.hides_internals else SHOWN


async def _apply(agents: Agents, shards: Sequence[ShardRef], rules: tuple[str, ...]) -> set[int]:
    """Add rules to the default user of shards, and store them for restarts. Return the uids of shards where it succeeded."""
    replies = await command(agents, shards, "ACL", "SETUSER", "default", *rules, timeout=TIMEOUT_SECONDS)
    changed = [shard for shard in shards if (result := replies.get(shard.uid)) is not None and result.ok]
    stored = await command(agents, changed, "CONFIG", "REWRITE", timeout=TIMEOUT_SECONDS)
    return {uid for uid, result in stored.items() if result.ok}
