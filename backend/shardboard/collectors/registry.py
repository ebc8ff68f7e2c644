"""List of all collector loops, from which `app.py` assembles the console."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.alerting.notifier import Notifier
from shardboard.collectors.benchmarks.benchmark_runs import BenchmarkCollector
from shardboard.collectors.cluster.console_backups import ConsoleBackups
from shardboard.collectors.cluster.consoles import ConsolePresence, ConsoleWatch, HandOver
from shardboard.collectors.cluster.housekeeping import Housekeeping
from shardboard.collectors.cluster.nodes import Acting, NodeCollector
from shardboard.collectors.data.change_cleanup import ChangeCleanup
from shardboard.collectors.data.location_access import LocationAccess
from shardboard.collectors.data.location_files import LocationFiles
from shardboard.collectors.data.request_transfers import RequestTransfers
from shardboard.collectors.data.upload_cleanup import UploadCleanup
from shardboard.collectors.failures.availability_history import AvailabilityCollector
from shardboard.collectors.failures.failure_detection import NodeWatch
from shardboard.collectors.failures.first_writes import FirstWriteCollector
from shardboard.collectors.failures.resync import ResyncCollector
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.metrics.metric_history import Archive
from shardboard.collectors.pulse import Pulses
from shardboard.driver.interfaces import Agents
from shardboard.kit.bus import Bus
from shardboard.lifecycle.supervision import Loop
from shardboard.store.db import Store


def shared_loops(
    store: Store,
    bus: Bus,
    agents: Agents,
    live: LiveMetrics,
    pulses: Pulses,
    acting: Acting,
    presence: ConsolePresence,
) -> list[Loop]:
    """Return the loops of each console. While a console does not lead, they only observe."""
    return [
        Loop("record this console", presence.run),
        Loop("collect samples from nodes", NodeCollector(store, bus, agents, live, pulses, acting).run, vital=True),
        Loop("aggregate samples", live.run),
    ]


def leader_loops(
    store: Store,
    bus: Bus,
    agents: Agents,
    live: LiveMetrics,
    pulses: Pulses,
    notifier: Notifier,
    certificate_expiries: Callable[[], Mapping[str, datetime]],
    console_id: str,
    state_dir: Path,
    hand_over: HandOver,
) -> list[Loop]:
    """Return the loops of the leading console, which has this ID, in the order in which they start."""
    archive = Archive(store, bus, live)
    access = LocationAccess(RequestTransfers(store, agents))
    return [
        Loop("watch nodes", NodeWatch(store, agents, pulses).run, vital=True),
        Loop("watch consoles", ConsoleWatch(store, console_id, pulses.count_reached, hand_over).run),
        Loop("store samples", archive.run),
        Loop("delete old data", Housekeeping(store).run),
        Loop("track resyncs", ResyncCollector(store, bus, agents).run),
        Loop("evaluate alarms", AlarmCollector(store, bus, live, pulses, agents, certificate_expiries).run),
        Loop("send notifications", notifier.run),
        Loop("collect benchmarks", BenchmarkCollector(store, bus, agents).run),
        Loop("delete recorded changes", ChangeCleanup(store, access).run),
        Loop("delete uploads", UploadCleanup(store, access).run),
        Loop("back up the console", ConsoleBackups(store, access, LocationFiles(store, agents), state_dir).run),
        Loop("record first writes", FirstWriteCollector(store, bus, live).run),
        Loop("count available seconds", AvailabilityCollector(store, live.service).run),
    ]
