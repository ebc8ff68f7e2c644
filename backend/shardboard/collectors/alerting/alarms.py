"""Checks every second for conditions that no event reports, and keeps one open span per alarm in the event log."""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.bdb_parameters import ReshardParameters
from shardboard.collectors import observations
from shardboard.collectors.alerting.capacity_alarms import (
    append_only_bytes,
    append_only_databases,
    read_capacity_alarms,
)
from shardboard.collectors.data.backup_alarms import read_backup_alarms
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.pulse import Pulses
from shardboard.domain.alerting import alarms, alert_settings, flash_alarms, threshold_alarms
from shardboard.domain.alerting.alarms import Alarm, AlarmKey, AlarmTracker, KeyCount, MonitoredShard
from shardboard.domain.alerting.alert_settings import AlertSetting
from shardboard.domain.alerting.threshold_alarms import Certificate
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.cluster.policy import Policy
from shardboard.domain.databases.bdb_status import IN_SERVICE, BdbStatus
from shardboard.domain.databases.shard_status import ShardLink, ShardStatus
from shardboard.domain.failures import failure_detection
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents
from shardboard.kit.active_clock import ACTIVE
from shardboard.kit.bus import Bus
from shardboard.state.alerting import events, webhooks
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
READ_SECONDS = 5.0
"""The store is read after each change and at this interval: stalls end with time, without a change."""

MAX_RECEIVER_FAILURES = 5
"""A receiver of notifications is reported after this number of consecutive failures, about 30 s."""


@dataclass
class _StoredState:
    """State of the store when it was last read."""

    databases: dict[int, tuple[str, list[MonitoredShard]]] = field(default_factory=dict)
    structure: list[Alarm] = field(default_factory=list)
    stalls: dict[int, int] = field(default_factory=dict)
    storage: dict[int, float] = field(default_factory=dict)
    lag_bytes: int = Policy.replication_lag_alarm_bytes
    on_flash: dict[int, int] = field(default_factory=dict)
    """RAM limits in bytes of databases on flash, by uid."""
    flash: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Promised and installed bytes of flash, by node uid."""
    limits: dict[int, tuple[dict[str, AlertSetting], int]] = field(default_factory=dict)
    """Alert settings and memory limits in bytes, by database uid."""
    node_limits: dict[str, AlertSetting] = field(default_factory=dict)
    append_only: frozenset[int] = frozenset()
    """Uids of databases with append-only files, if the alert about their space is enabled."""
    memory: dict[int, int] = field(default_factory=dict)
    """Memory in bytes, by node uid."""


class AlarmCollector:
    """Raises, updates and ends alarms. Alarms survive a restart: a new console continues the open spans."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        live: LiveMetrics,
        pulses: Pulses,
        agents: Agents,
        expiries: Callable[[], Mapping[str, datetime]],
    ) -> None:
        """`ends` returns when the console's own certificates, `server` and `ca`, expire."""
        self._agents = agents
        self._ends = expiries
        self._store = store
        self._bus = bus
        self._live = live
        self._pulses = pulses
        self._board = AlarmTracker()
        self._known = _StoredState()
        self._keys: dict[int, KeyCount] = {}
        self._refusals = alarms.RecentErrors()
        self._unreadable = alarms.RecentErrors()
        self._rejections = alarms.RecentErrors()
        self._collapsed: dict[int, float] = {}
        """Number of keys before they collapsed, by uid of the primary."""

    async def run(self) -> None:
        """Run until cancelled."""
        await self.load_open_alarms()
        clock = ACTIVE.now
        read_at = -READ_SECONDS
        with self._bus.listen("change") as changes:
            while True:
                changed = {message[0] for _, message in changes.drain()}
                if (
                    changes.overflowed
                    or clock() - read_at >= READ_SECONDS
                    or changed & {"shard", "bdb", "node", "cluster", "backup"}
                ):
                    changes.overflowed = False
                    await self.read_store()
                    read_at = clock()
                await self.evaluate(clock())
                await asyncio.sleep(POLL_SECONDS)

    async def load_open_alarms(self) -> None:
        """Load the alarms that this or another console has raised. Alarms that could not be written count as not raised."""
        self._board.raised.clear()
        async with self._store.read() as session:
            for event in await events.list_open_alarms(session):
                if event.type in events.SELF_MANAGED_ALARMS:
                    continue
                alarm = _alarm(event)
                self._board.raised[alarm.key] = alarm
                if alarm.type == "alarm_keys_collapsed" and alarm.shard_uid is not None:
                    self._collapsed[alarm.shard_uid] = alarm.details["keys_before"]

    async def read_store(self) -> None:
        """Read the store."""
        stored_state = _StoredState()
        async with self._store.read() as session:
            cluster_row = await cluster.load(session)
            stored_state.lag_bytes = cluster_row.rules.replication_lag_alarm_bytes
            settings = cluster_row.settings.alert_settings
            stored_state.node_limits = alert_settings.settings_for_source("node", settings)
            parts: dict[int, list[MonitoredShard]] = defaultdict(list)
            rows = await shards.list_conditions(session)
            new_shards = await _new_shards(session)
            for row in rows:
                size = sum(last - first + 1 for first, last in slots.parse(row.slots))
                shard_fields = (row.uid, row.node_uid, row.pair, row.current_role, row.observed_status)
                link = row.observed_link
                parts[row.bdb_uid].append(
                    MonitoredShard(
                        *shard_fields,
                        in_sync=link == ShardLink.IDLE,
                        slots=size,
                        rejects_requests=link == ShardLink.CLUSTER_DOWN,
                        is_new=row.uid in new_shards,
                    )
                )
            flash: dict[int, int] = {}
            databases = await bdbs.list_all(session)
            machines = await nodes.list_all(session)
            zones = {node.uid: node.zones for node in machines}
            for bdb in databases:
                if bdb.on_flash:
                    flash[bdb.uid] = bdb.shard_memory.flash or 0
                if bdb.status not in IN_SERVICE:
                    continue
                stored_state.databases[bdb.uid] = (bdb.name, parts[bdb.uid])
                stored_state.limits[bdb.uid] = (alert_settings.settings_for_bdb(bdb.alert_settings), bdb.memory_size)
                if bdb.on_flash:
                    stored_state.on_flash[bdb.uid] = bdb.config["bigstore_ram_size"]
                new_alarms = alarms.database_alarms(
                    bdb.uid,
                    bdb.name,
                    replicated=bdb.replication,
                    sharded=bdb.sharding,
                    shard_statuses=parts[bdb.uid],
                    zones=zones if bdb.rack_aware else None,
                )
                # A shard that is replaced on its own node has its replacement on the same node for some time.
                is_changing = bdb.status == BdbStatus.CHANGE_PENDING
                stored_state.structure += [
                    alarm for alarm in new_alarms if not (is_changing and alarm.type == "alarm_pair_on_one_node")
                ]
            stalls = await observations.recent_stalls(session)
            promised: Counter[int] = Counter()
            for row in rows:
                promised[row.node_uid] += flash.get(row.bdb_uid, 0)
            for node in machines:
                stored_state.memory[node.uid] = node.facts["total_memory"]
                stored_state.stalls[node.uid] = stalls[node.uid]
                stored_state.storage[node.uid] = float(node.facts["storage_size"])
                stored_state.structure += alarms.engine_alarms(node.uid, node.facts["engine_version"])
                if node.flash_size or promised[node.uid]:
                    stored_state.flash[node.uid] = (promised[node.uid], node.flash_size)
            stored_state.structure += threshold_alarms.cluster_alarms(
                alert_settings.settings_for_source("cluster", settings),
                [
                    threshold_alarms.NodeState(node.uid, node.health == NodeHealth.DOWN, node.facts["engine_version"])
                    for node in machines
                ],
            )
            stored_state.structure += alarms.receiver_alarms(
                await webhooks.list_failing(session, MAX_RECEIVER_FAILURES)
            )
            stored_state.structure += threshold_alarms.certificate_alarms(
                {**alert_settings.settings_for_source("cluster", settings), **stored_state.node_limits},
                self._certificates([node.uid for node in machines]),
                datetime.now(UTC),
            )
            stored_state.structure += await read_backup_alarms(session, databases, datetime.now(UTC))
            stored_state.append_only = append_only_databases(databases, stored_state.node_limits)
            stored_state.structure += await read_capacity_alarms(
                session, settings, databases, rows, machines, datetime.now(UTC)
            )
        self._known = stored_state

    def _certificates(self, node_uids: Sequence[int]) -> list[Certificate]:
        expiries = self._ends()
        certificates = [
            Certificate(alert, subject, expiries[name])
            for name, alert, subject in (
                ("server", "cluster_certs_about_to_expire", "The certificate of the console's port"),
                ("ca", "cluster_ca_cert_about_to_expire", "The CA certificate of the console"),
            )
            if name in expiries
        ]
        alert = "node_internal_certs_about_to_expire"
        return certificates + [
            Certificate(alert, f"The certificate of the agent of node {uid}", expiry, uid)
            for uid in node_uids
            if (expiry := self._agents.certificate_expiry(uid)) is not None
        ]

    async def evaluate(self, now: float) -> None:
        """Raise, update and end alarms by the state at `now` (seconds of a monotonic clock)."""
        all_alarms = [
            *self._known.structure,
            *self._node_alarms(),
            *self._shard_alarms(now),
            *self._flash_alarms(now),
            *self._threshold_alarms(),
        ]
        raised_alarms, changed, ended = self._board.update(now, all_alarms)
        if raised_alarms or changed or ended:
            await self._write(raised_alarms, changed, ended)

    def _node_alarms(self) -> list[Alarm]:
        new_alarms = []
        for uid, stalls in self._known.stalls.items():
            latest = self._live.latest("nodes", str(uid))
            free, size = latest.get("persistent_storage_avail"), self._known.storage[uid]
            storage_left = free / size if free is not None and size else None
            clock_offset = self._pulses.clocks.get(uid, 0.0)
            new_alarms += alarms.node_alarms(
                uid, ahead=clock_offset, stalls=stalls, max_stalls=failure_detection.FLAPPING, storage_left=storage_left
            )
            new_alarms += alarms.cut_off_agent(uid, self._agents.cut_off_reason(uid))
            new_alarms += alarms.samples_late(uid, self._live.lateness.share(uid), latest)
        return new_alarms

    def _shard_alarms(self, now: float) -> list[Alarm]:
        new_alarms = []
        _, raw = self._live.latest_raw()
        kept = self._raised_from_samples()
        for bdb_uid, (name, parts) in self._known.databases.items():
            for part in parts:
                if part.uid not in raw:  # a missing sample must not end alarms of a shard that is up
                    new_alarms += kept[part.uid] if part.status != ShardStatus.DOWN else []
                elif part.role == ShardRole.REPLICA:
                    lag = self._live.latest_value(f"shards:{bdb_uid}", part.uid, "repl_lag_bytes")
                    new_alarms += alarms.replication_lag_alarms(bdb_uid, name, part, lag, self._known.lag_bytes)
                else:
                    new_alarms += self._key_alarms(bdb_uid, name, part, raw[part.uid])
                    _record_errors(self._refusals, part.uid, raw[part.uid], "oom_errors", now)
            new_alarms += alarms.memory_full(bdb_uid, name, parts, self._refusals, now)
            new_alarms += self._connection_alarms(
                bdb_uid, name, {part.uid: raw[part.uid] for part in parts if part.uid in raw}, now
            )
        return new_alarms

    def _flash_alarms(self, now: float) -> list[Alarm]:
        new_alarms = []
        for uid, (promised, size) in self._known.flash.items():
            new_alarms += flash_alarms.node_alarms(uid, promised=promised, size=size)
        tiers = self._live.latest_raw_tiers() if self._known.on_flash else {}
        _, raw = self._live.latest_raw()
        for bdb_uid, ram_size in self._known.on_flash.items():
            name, parts = self._known.databases[bdb_uid]
            settings, _ = self._known.limits[bdb_uid]
            new_alarms += flash_alarms.database_alarms(
                bdb_uid, name, self._live.latest("flash", str(bdb_uid)), ram_size, settings
            )
            for part in parts:
                if part.uid not in tiers or part.uid not in raw:
                    continue
                tier, started_at = tiers[part.uid], raw[part.uid]["started_at"]
                new_alarms += flash_alarms.few_values_alarms(bdb_uid, name, part, settings, tier["values_ram"])
                if started_at is not None:
                    errors = (tier["read_errors"] or 0.0) + (tier["checksum_errors"] or 0.0)
                    self._unreadable.record(part.uid, started_at, errors, now)
                is_unreadable = self._unreadable.are_recent(part.uid, now)
                new_alarms += flash_alarms.shard_alarms(
                    bdb_uid, name, part, tier["flash_state"], is_unreadable=is_unreadable
                )
        return new_alarms

    def _threshold_alarms(self) -> list[Alarm]:
        new_alarms = []
        for uid, (settings, memory_size) in self._known.limits.items():
            name, _ = self._known.databases[uid]
            new_alarms += threshold_alarms.database_alarms(
                uid, name, settings, self._live.latest_known("bdbs", str(uid)), memory_size
            )
        append_only = append_only_bytes(self._live, self._known.databases, self._known.append_only)
        for uid, memory in self._known.memory.items():
            storage, (_, flash) = self._known.storage[uid], self._known.flash.get(uid, (0, 0))
            latest = self._live.latest_known("nodes", str(uid))
            new_alarms += threshold_alarms.node_alarms(
                uid,
                self._known.node_limits,
                latest,
                memory=memory,
                storage=storage,
                flash=flash,
                aof=append_only[uid],
            )
        return new_alarms

    def _connection_alarms(
        self, bdb_uid: int, name: str, rows: Mapping[int, Mapping[str, float | None]], now: float
    ) -> list[Alarm]:
        for uid, raw in rows.items():
            _record_errors(self._rejections, uid, raw, "rejected", now)
        scarce = [uid for uid, raw in rows.items() if alarms.are_connections_scarce(raw)]
        refusing = [uid for uid in rows if self._rejections.are_recent(uid, now)]
        return alarms.shard_connections(bdb_uid, name, scarce, refusing)

    def _raised_from_samples(self) -> Mapping[int, list[Alarm]]:
        """Return the raised alarms that are based on samples of a shard, by its uid."""
        raised: dict[int, list[Alarm]] = defaultdict(list)
        for alarm in self._board.raised.values():
            if alarm.type in ("alarm_keys_collapsed", "alarm_replication_lag") and alarm.shard_uid is not None:
                raised[alarm.shard_uid].append(alarm)
        return raised

    def _key_alarms(
        self, bdb_uid: int, name: str, shard_status: MonitoredShard, raw: Mapping[str, float | None]
    ) -> list[Alarm]:
        started_at, count = raw["started_at"], raw["keys"]
        if started_at is None or count is None or raw["loading"] == 1.0 or raw["is_primary"] != 1.0:
            return []
        now, previous = KeyCount(started_at, count), self._keys.get(shard_status.uid)
        self._keys[shard_status.uid] = now
        if previous is not None and alarms.lost_most_keys(previous, now):
            self._collapsed[shard_status.uid] = previous.count
        if shard_status.uid not in self._collapsed:
            return []
        alarm = alarms.key_loss_alarms(bdb_uid, name, shard_status, self._collapsed[shard_status.uid], now)
        if not alarm:
            del self._collapsed[shard_status.uid]
        return alarm

    async def _write(self, raised: Sequence[Alarm], changed: Sequence[Alarm], ended: Sequence[AlarmKey]) -> None:
        async with self._store.begin() as session:
            await cluster.load_for_update(session)  # serializes consoles on the same store, which see the same alarms
            spans = {_alarm(event).key: event for event in await events.list_open_alarms(session)}
            for alarm in (*raised, *changed):
                span = spans.get(alarm.key)
                if span is not None:
                    span.description, span.details = alarm.description, {**alarm.details, "open": True}
                    continue
                log.warning("%s", alarm.description)
                events.record(
                    session,
                    alarm.type,
                    alarm.description,
                    source=alarm.source,
                    severity=alarm.severity,
                    bdb_uid=alarm.bdb_uid,
                    node_uid=alarm.node_uid,
                    shard_uid=alarm.shard_uid,
                    details={**alarm.details, "open": True},
                )
            for key in ended:
                if (span := spans.get(key)) is not None:
                    span.end()


async def _new_shards(session: AsyncSession) -> set[int]:
    """Return the uids of shards that running actions add to databases."""
    resharding = await actions.list_unfinished(session, ActionName.RESHARD_BDB)
    return {uid for action in resharding for uid in ReshardParameters.parse(action).new_shards}


def _record_errors(
    errors: alarms.RecentErrors, uid: int, raw: Mapping[str, float | None], counter: str, now: float
) -> None:
    started_at, count = raw["started_at"], raw[counter]
    if started_at is not None and count is not None:
        errors.record(uid, started_at, count, now)


def _alarm(event: Event) -> Alarm:
    details = {name: value for name, value in event.details.items() if name != "open"}
    return Alarm(event.type, event.description, event.severity, event.bdb_uid, event.node_uid, event.shard_uid, details)
