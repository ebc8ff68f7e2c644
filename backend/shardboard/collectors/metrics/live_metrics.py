"""Metrics of the last minutes, in memory: samples arrive by node, and complete seconds are published by topic.

A second is published as soon as all connected nodes have delivered it, or GRACE seconds after its first sample. Later samples are
stored in the rings, and the second is published again as a back-fill. This module does not access the store: the archive takes
complete seconds from here, and restores them after a restart.
"""

import asyncio
import time
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import nan
from typing import Any

from shardboard.collectors.metrics.endpoint_samples import EndpointSamples
from shardboard.collectors.metrics.latency import Latencies
from shardboard.collectors.metrics.lateness import Lateness
from shardboard.collectors.metrics.reporters import Reporters
from shardboard.collectors.metrics.ring_buffer import Ring
from shardboard.collectors.metrics.sample_seconds import (
    RATES,
    FlashShardRows,
    PackedSample,
    Raw,
    Second,
    ShardPlace,
    ShardRows,
    earlier_seconds,
    without_foreign_shards,
)
from shardboard.collectors.metrics.service_seconds import ServiceSeconds
from shardboard.domain.metrics import endpoint_metrics, latency, rates
from shardboard.domain.metrics.flash_rates import ALL_DATABASES, FLASH_METRICS
from shardboard.domain.metrics.rates import MAX_STEP, SHARD_METRICS, SHARD_STREAMED, Value
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame, numbers
from shardboard.driver.interfaces import NODE_FIELDS, RING_SECONDS, TIER_FIELDS, LateProxyReading, ProxyReading, Sample
from shardboard.kit.bus import Bus
from shardboard.kit.sse_frames import make_frame

RETENTION = 900
"""Seconds that are kept for cluster, nodes and databases."""
SHARD_RETENTION = 300
RAW_RETENTION, MAX_RAW_RETENTION = 60, 150
"""Seconds for which samples are kept as agents sent them; the second one applies while samples of a node are missing."""
GRACE = 0.8
"""Seconds to wait for slower nodes before a second is published without them. Agents of one machine distribute their readings
over up to 0.4 s (`agent/metrics/sampler.py`)."""

CATCH_UP_EVERY = 0.2
"""Minimum seconds between two recalculations for late samples."""
CATCH_UP_PAUSE = 20
"""The pause between two recalculations is at least this many times as long as the last one took."""
MAX_AGE_SECONDS = 10
"""Age in seconds from which the newest second counts as outdated."""
_PLACES = {topic: {name: index for index, name in enumerate(names)} for topic, names in TOPICS.items()}
"""Position of each metric in the rows of a topic."""


class LiveMetrics:
    """Rings by topic and uid. Topics: `cluster`, `nodes`, `bdbs`, `endpoints` and `shards:<bdb uid>`; for databases on flash also
    `flash`, by database, and `flash_shards:<bdb uid>`.

    Where endpoints measure latency, its metrics follow the topic's own metrics in all published rows.
    """

    retention = RETENTION

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._reporters = Reporters()
        self._rings: dict[str, dict[str, Ring]] = defaultdict(dict)
        self._seconds: dict[int, Second] = {}
        self._connected: set[int] = set()
        self._backfilled: dict[str, tuple[int, int]] = {}
        self._arrived = asyncio.Event()
        self._boots: dict[int, tuple[str, int]] = {}
        self.endpoints = EndpointSamples(RETENTION)
        self._settled: set[int] = set()
        self._late: set[int] = set()
        self._catch_up_at = 0.0
        self.lateness = Lateness()
        self.service = ServiceSeconds()
        self.newest = 0
        """The newest published second."""
        self._cleaned_up_to = 0

    def set_members(self, members: Mapping[int, ShardPlace]) -> None:
        """Set the existing shards, and remove the series of others."""
        self._reporters.set_members(members)
        kinds = ("shards", "flash_shards")
        active_keys = {(f"{kind}:{member.bdb_uid}", str(uid)) for uid, member in members.items() for kind in kinds}
        databases = {member.bdb_uid for member in members.values()}
        active_keys |= {(topic, str(uid)) for uid in databases for topic in ("bdbs", "flash")}
        active_keys |= {("flash", str(ALL_DATABASES))} if databases else set()
        active_keys |= {
            ("endpoints", uid) for uid in self._rings["endpoints"] if int(uid.partition(":")[0]) in databases
        }
        for topic in [topic for topic in self._rings if topic not in ("cluster", "nodes")]:
            for uid in [uid for uid in self._rings[topic] if (topic, uid) not in active_keys]:
                del self._rings[topic][uid]
            if not self._rings[topic]:
                del self._rings[topic]
        self.endpoints.retain(databases)

    def set_endpoints(self, nodes_by_bdb: Mapping[int, Collection[int]]) -> None:
        """Set the nodes whose proxies serve each database."""
        self._reporters.endpoints = nodes_by_bdb

    def set_down_nodes(self, nodes: Collection[int]) -> None:
        """Set the nodes that are down by agreement of witnesses. Their shards serve nothing, and seconds do not wait for them."""
        self._reporters.down = frozenset(nodes)

    def connect(self, node_uid: int) -> None:
        """Let seconds wait for this node from now on."""
        self._connected.add(node_uid)
        self._reporters.lost.discard(node_uid)

    def disconnect(self, node_uid: int) -> None:
        self._connected.discard(node_uid)
        self._reporters.lost.add(node_uid)
        self.lateness.remove(node_uid)
        self._arrived.set()

    def resume_point(self, node_uid: int) -> tuple[str, int]:
        """Return boot ID and sequence number of a node's newest sample, from which the stream resumes."""
        return self._boots.get(node_uid, ("", 0))

    def skip(self, node_uid: int, sample: Sample) -> None:
        """Skip a sample: mark it as received without storing it."""
        self._boots[node_uid] = (sample.boot, sample.seq)

    def ingest(self, node_uid: int, sample: Sample) -> None:
        """Store one sample of a node, without data about shards of other nodes."""
        sample = without_foreign_shards(sample, node_uid, self._reporters.members)
        self._boots[node_uid] = (sample.boot, sample.seq)
        second = self._seconds.setdefault(sample.t, Second(first_arrival=time.monotonic()))
        second.nodes[node_uid] = dict(zip(NODE_FIELDS, sample.node, strict=True))
        boot = float(int(sample.boot[:8], 16))
        for uid, values in sample.shards.items():
            second.shards[uid] = RATES.pack(values, boot)
        for uid, values in sample.tiers.items():
            second.tiers[uid] = array("d", [nan if value is None else value for value in values])
        for bdb_uid, pings in sample.pings.items():
            second.pings[bdb_uid, node_uid] = array("i", pings)
        second.died |= sample.died.keys()
        second.missing |= sample.missing.keys()
        if sample.proxy is not None:
            second.endpoints |= self.endpoints.ingest(node_uid, sample.t, sample.proxy)
            _record_proxy(second, node_uid, sample.proxy)
        elif sample.proxy_missing:
            second.silent_proxies.add(node_uid)
        if sample.late_proxy is not None:
            self._ingest_late_proxy(node_uid, sample.t, sample.late_proxy)
        second.completed_at = max(second.completed_at, sample.at)
        if second.is_published:
            self._late.add(sample.t)
        self._arrived.set()

    def _ingest_late_proxy(self, node_uid: int, now: int, late: LateProxyReading) -> None:
        if not now - RING_SECONDS <= late.t < now:
            return
        rows = self.endpoints.ingest(node_uid, late.t, late.reading)
        if (second := self._seconds.get(late.t)) is not None:
            second.endpoints |= rows
            _record_proxy(second, node_uid, late.reading)
            second.silent_proxies.discard(node_uid)
            if second.is_published:
                self._late.add(late.t)

    async def run(self) -> None:
        """Publish seconds when they become complete, until cancelled."""
        while True:
            self._arrived.clear()
            now = time.monotonic()
            for t in sorted(t for t, second in self._seconds.items() if not second.is_published):
                second = self._seconds[t]
                if self._is_complete(second) or now - second.first_arrival > GRACE:
                    self._publish(t, second)
            if self._late and now > self._catch_up_at:
                self._catch_up()
                # With hundreds of shards a recalculation takes so long that one per late sample would delay other samples.
                elapsed = time.monotonic() - now
                self._catch_up_at = now + max(CATCH_UP_EVERY, CATCH_UP_PAUSE * elapsed)
            if self._settled:
                self._bus.publish("settled")
            self._flush_backfill()
            self._evict()
            has_pending = self._late or any(not second.is_published for second in self._seconds.values())
            try:
                async with asyncio.timeout(0.05 if has_pending else 1.0):
                    await self._arrived.wait()
            except TimeoutError:
                continue

    def _is_complete(self, second: Second) -> bool:
        """Return whether all connected nodes have delivered it. Called for each sample, so the numbers are compared first."""
        return len(self._connected) <= len(second.nodes) and self._connected <= second.nodes.keys()

    def history(self, topic: str, seconds: int, after: int) -> dict[str, Any]:
        """Return the `history` frame of a topic: the newest `seconds` seconds, limited to those later than `after`."""
        header, series = self.history_parts(topic, seconds, after)
        return {**header, "series": dict(series)}

    def history_parts(
        self, topic: str, seconds: int, after: int
    ) -> tuple[dict[str, Any], Iterator[tuple[str, list[list[Value]]]]]:
        """Return the frame in parts, with an iterator over series: with hundreds of shards, the reader must yield in between."""
        first = max(self.newest - seconds + 1, after + 1, self.newest - self._retention(topic) + 1)
        count = max(0, self.newest - first + 1)
        return self._head(topic, first, count), self._series(topic, first, count)

    def latest(self, topic: str, uid: str) -> dict[str, Value]:
        """Return the newest published second of one series by metric name; empty if there is none."""
        ring = self._rings.get(topic, {}).get(uid)
        row = self._row(topic, uid, self.newest) if ring is not None else None
        return dict(zip(self.metrics(topic), row, strict=True)) if row is not None else {}

    def latest_value(self, topic: str, uid: int, metric: str) -> Value:
        """Return one metric of `latest`, without the cost of the others; not for metrics of latency."""
        ring = self._rings.get(topic, {}).get(str(uid))
        return ring.value(self.newest, _PLACES[_kind(topic)][metric]) if ring is not None else None

    def latest_known(self, topic: str, uid: str) -> dict[str, Value]:
        """Return the newest known value of each metric that is not outdated, so that a late second hides nothing."""
        if (ring := self._rings.get(topic, {}).get(uid)) is None:
            return {}
        row = ring.newest_known(self.newest, MAX_AGE_SECONDS, len(self._streamed(topic)))
        if row is not None and topic in Latencies.topics:
            row += self.endpoints.latencies.newest_known(topic, uid, self.newest, MAX_AGE_SECONDS)
        return dict(zip(self.metrics(topic), row, strict=True)) if row is not None else {}

    def last_offset(self, uid: int) -> Value:
        """Return the replication offset in the newest sample of a shard, whatever its age; None without a sample."""
        for t in sorted(self._seconds, reverse=True):
            if (raw := self._seconds[t].shards.get(uid)) is not None:
                return PackedSample(raw)["repl_offset"]
        return None

    def write_counts(self, uid: int) -> list[tuple[int, Value, Value]]:
        """Return (second, whether it was primary, total write commands) of a shard's retained samples, oldest first."""
        samples = [
            (t, PackedSample(raw))
            for t in sorted(self._seconds)
            if (raw := self._seconds[t].shards.get(uid)) is not None
        ]
        return [(t, raw["is_primary"], raw["write_cmds"]) for t, raw in samples]

    def latest_raw(self) -> tuple[Mapping[int, Mapping[str, Value]], Mapping[int, Mapping[str, Value]]]:
        """Return the agents' values of nodes and of shards in the newest second, by uid; empty if it is outdated."""
        second = self._seconds.get(self.newest)
        if second is None or time.time() - self.newest > MAX_AGE_SECONDS:
            return {}, {}
        return second.nodes, {uid: PackedSample(raw) for uid, raw in second.shards.items()}

    def latest_raw_tiers(self) -> Mapping[int, Mapping[str, Value]]:
        """Return the flash module's values of shards in the newest second, by uid; empty if it is outdated."""
        second = self._seconds.get(self.newest)
        if second is None or time.time() - self.newest > MAX_AGE_SECONDS:
            return {}
        return {
            uid: {name: None if value != value else value for name, value in zip(TIER_FIELDS, raw, strict=True)}
            for uid, raw in second.tiers.items()
        }

    def take_computed_seconds(self) -> set[int]:
        """Return the seconds that were computed since the last call, including recalculations."""
        seconds, self._settled = self._settled, set()
        return seconds

    def frame(self, kind: str, t: int) -> TopicFrame | None:
        """Return one second of all topics of a kind (`cluster`, `nodes`, `bdbs`, `shards`) as a frame; None without data."""
        rows = {
            _number(uid): row
            for topic, rings in self._rings.items()
            if _kind(topic) == kind
            for uid, ring in rings.items()
            if (row := ring.packed(t)) is not None
        }
        if not rows:
            return None
        uids, width, flat = numbers(rows), len(TOPICS[kind]), array("f")
        for uid in uids:
            flat.extend(rows[uid])
        return TopicFrame(t, uids, {name: flat[index::width] for index, name in enumerate(TOPICS[kind])})

    def restore(self, kind: str, frame: TopicFrame) -> None:
        """Add a second that an earlier console has stored to the rings. Members must be set before."""
        count, names = len(frame.uids), TOPICS[kind]
        flat = array("f", [nan]) * (count * len(names))
        for index, name in enumerate(names):
            if name in frame.columns:
                flat[index :: len(names)] = frame.columns[name]
        for index, uid in enumerate(frame.uids):
            topic = kind
            if kind in ("shards", "flash_shards"):
                if uid not in self._reporters.members:
                    continue
                topic = f"{kind}:{self._reporters.members[uid].bdb_uid}"
            row = flat[index * len(names) : (index + 1) * len(names)]
            self._ring(topic, _uid(topic, uid)).put_packed(frame.t, row)
        self.newest = max(self.newest, frame.t)

    def _publish(self, t: int, second: Second) -> None:
        second.is_published = True
        for node_uid in self._connected - self._reporters.down:
            bdb_uids = self._reporters.of_node.get(node_uid, ())
            self.lateness.record(t, node_uid, arrived=node_uid in second.nodes, shards=bdb_uids, missing=second.missing)
        if t <= self.newest - RETENTION:
            return
        self._settle(t, second)
        if t < self.newest:
            self._record_backfill(t)
            return
        self.newest = t
        for topic, rings in self._rings.items():
            if self._bus.has_listeners(f"frame:{topic}"):
                series = {uid: row for uid in rings if (row := self._row(topic, uid, t)) is not None}
                frame = {"topic": topic, "t": t, "at": round(second.completed_at * 1000), "series": series}
                self._bus.publish(f"frame:{topic}", make_frame("sample", frame, t))

    def _catch_up(self) -> None:
        """Recalculate the seconds with late samples: once for all late nodes."""
        late_seconds, self._late = self._late, set()
        for t in sorted(late_seconds & self._seconds.keys()):
            self._settle(t, self._seconds[t])
            self._record_backfill(t)

    def _record_backfill(self, t: int) -> None:
        for topic in self._rings:
            first, last = self._backfilled.get(topic, (t, t))
            self._backfilled[topic] = (min(first, t), max(last, t))

    def _settle(self, t: int, second: Second) -> None:
        """Compute all rows of one second from its raw samples and earlier ones."""
        self._settled.add(t)
        members, of_node = self._reporters.members, self._reporters.of_node
        without_endpoint = self._reporters.databases_without_endpoint(second)
        self.endpoints.latencies.settle(t, without_endpoint)
        self.service.settle(t, second, self._reporters, without_endpoint)
        for (bdb_uid, node_uid), values in second.endpoints.items():
            name = endpoint_metrics.name(endpoint_metrics.number(bdb_uid, node_uid))
            self._ring("endpoints", name).put(t, list(values.values()))
        past_seconds = earlier_seconds(self._seconds, t)
        shards = ShardRows(members, second, [(age, previous.shards) for age, previous in past_seconds])
        for uid, row in shards.rows.items():
            self._ring(f"shards:{members[uid].bdb_uid}", str(uid)).put_packed(t, row[: len(SHARD_METRICS)])
        tiers = FlashShardRows(shards, second, past_seconds)
        for uid, tier_row in tiers.rows.items():
            self._put_flash(f"flash_shards:{members[uid].bdb_uid}", uid, t, tier_row)
        self._settle_databases(t, second, shards, tiers, without_endpoint)
        for node_uid, raw in second.nodes.items():
            age, past_second = next(
                ((age, past_second) for age, past_second in past_seconds if node_uid in past_second.nodes), (0, None)
            )
            previous = past_second.nodes[node_uid] if past_second is not None else None
            bdb_uids = of_node.get(node_uid, ())
            machine = rates.node(raw, previous, age, shards.node_row(bdb_uids) | tiers.node_row(bdb_uids))
            self._ring("nodes", str(node_uid)).put(t, machine)

    def _put_flash(self, topic: str, uid: int, t: int, found: Mapping[str, float]) -> None:
        self._ring(topic, str(uid)).put_packed(t, array("f", [found[name] for name in FLASH_METRICS]))

    def _settle_databases(
        self,
        t: int,
        second: Second,
        shards: ShardRows,
        tiers: FlashShardRows,
        without_endpoint: Collection[int],
    ) -> None:
        is_complete, seconds = True, []
        endpoint_values: dict[int, list[Mapping[str, Value]]] = defaultdict(list)
        for (bdb_uid, _), values in second.endpoints.items():
            endpoint_values[bdb_uid].append(values)
        for bdb_uid, uids in self._reporters.of_bdb.items():
            known_uids = [uid for uid in uids if uid in shards.rows]
            if any(self._reporters.lacks_shard(uid, second) for uid in uids):
                is_complete = False
            elif known_uids:
                row: Raw = dict(
                    zip(rates.BDB_METRICS, shards.database_row(known_uids, second.probes(bdb_uid)), strict=True)
                )
                if bdb_uid in without_endpoint:
                    row |= dict.fromkeys(endpoint_metrics.FROM_ENDPOINTS)
                elif bdb_uid in endpoint_values:
                    row |= endpoint_metrics.together(endpoint_values[bdb_uid])
                if (on_flash := tiers.database_row(known_uids)) is not None:
                    self._put_flash("flash", bdb_uid, t, on_flash)
                    # For databases on flash, used_memory includes RAM and flash, as memory_size does.
                    row["used_memory"] = rates.add((row["used_memory"], on_flash["used_bigstore"]))
                seconds.append(row)
                self._ring("bdbs", str(bdb_uid)).put(t, list(row.values()))
        on_flash = tiers.database_row(list(tiers.rows)) if is_complete else None
        if on_flash is not None:
            self._put_flash("flash", ALL_DATABASES, t, on_flash)
        if is_complete and seconds:
            row = dict(zip(rates.BDB_METRICS, shards.database_row(list(shards.rows), second.probes()), strict=True))
            summed = (*endpoint_metrics.FROM_ENDPOINTS, "used_memory")
            row |= {metric: rates.add(each[metric] for each in seconds) for metric in summed}
            self._ring("cluster", "cluster").put(t, list(row.values()))

    def _flush_backfill(self) -> None:
        for topic, (first, last) in self._backfilled.items():
            first = max(first, self.newest - self._retention(topic) + 1)
            if first <= last and self._bus.has_listeners(f"frame:{topic}"):
                frame = self._frame(topic, first, last - first + 1)
                self._bus.publish(f"frame:{topic}", make_frame("history", frame, self.newest))
        self._backfilled.clear()

    def _frame(self, topic: str, first: int, count: int) -> dict[str, Any]:
        return {**self._head(topic, first, count), "series": dict(self._series(topic, first, count))}

    def _head(self, topic: str, first: int, count: int) -> dict[str, Any]:
        return {"topic": topic, "metrics": self.metrics(topic), "from": first, "count": count}

    def _series(self, topic: str, first: int, count: int) -> Iterator[tuple[str, list[list[Value]]]]:
        rings = dict(self._rings.get(topic, {})) if count > 0 else {}
        width, latencies = len(self._streamed(topic)), self.endpoints.latencies
        for uid, ring in rings.items():
            columns = ring.columns(first, count, width)
            yield uid, columns + latencies.columns(topic, uid, first, count) if topic in latencies.topics else columns

    def _row(self, topic: str, uid: str, t: int) -> list[Value] | None:
        row = self._rings[topic][uid].get(t, len(self._streamed(topic)))
        if row is None or topic not in self.endpoints.latencies.topics:
            return row
        return row + self.endpoints.latencies.row(topic, uid, t)

    def _evict(self) -> None:
        if self._cleaned_up_to == self.newest:
            return
        self._cleaned_up_to = self.newest
        if len(self._settled) > 2 * SHARD_RETENTION:  # only the leading console takes and stores them
            self._settled = {t for t in self._settled if t > self.newest - SHARD_RETENTION}
        # A node that was unreachable sends samples of up to 120 s later. The sums of those seconds need the samples of all nodes.
        hosts = self._reporters.of_node.keys()
        incomplete = (t for t in sorted(self._seconds) if not hosts <= self._seconds[t].nodes.keys())
        oldest = min(self.newest - RAW_RETENTION, next(incomplete, self.newest) - MAX_STEP)
        for t in [t for t in self._seconds if t < max(oldest, self.newest - MAX_RAW_RETENTION)]:
            del self._seconds[t]
        self.endpoints.latencies.evict(self.newest)

    def _ring(self, topic: str, uid: str) -> Ring:
        rings = self._rings[topic]
        if uid not in rings:
            rings[uid] = Ring(len(TOPICS[_kind(topic)]), self._retention(topic))
        return rings[uid]

    @staticmethod
    def metrics(topic: str) -> tuple[str, ...]:
        """Return the names of a series' values, in order."""
        return LiveMetrics._streamed(topic) + (latency.METRICS if topic in Latencies.topics else ())

    @staticmethod
    def _streamed(topic: str) -> tuple[str, ...]:
        """Return the streamed metrics: for shards only those that browsers draw live; all others are in frames."""
        return TOPICS[_kind(topic)][: SHARD_STREAMED if _kind(topic) == "shards" else None]

    @staticmethod
    def _retention(topic: str) -> int:
        return SHARD_RETENTION if _kind(topic) in ("shards", "flash_shards") else RETENTION


def _kind(topic: str) -> str:
    return topic.partition(":")[0]


def _record_proxy(second: Second, node_uid: int, reading: ProxyReading) -> None:
    """Record the process that reported. Agents of the previous release do not report its start."""
    if reading.started_ms:
        second.proxies[node_uid] = reading.started_ms


def _number(uid: str) -> int:
    return 0 if uid == "cluster" else endpoint_metrics.parsed(uid) if ":" in uid else int(uid)


def _uid(topic: str, number: int) -> str:
    return "cluster" if topic == "cluster" else endpoint_metrics.name(number) if topic == "endpoints" else str(number)


def shard_places(rows: Iterable[Any]) -> dict[int, ShardPlace]:
    """Return the shards' places from rows of `state.shards`."""
    return {row.uid: ShardPlace(row.bdb_uid, row.pair, row.node_uid, bool(row.slots)) for row in rows}
