"""Alarms with thresholds that an administrator sets for databases, nodes and the cluster (`alert_settings`).

The type of each alarm is `alarm_` followed by the name of the alert in the reference. Unknown values raise no alarm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shardboard.domain.alerting.alarms import Alarm
from shardboard.domain.alerting.alert_settings import OFF, AlertSetting
from shardboard.domain.metrics import rates
from shardboard.domain.metrics.rates import Value

PREFIX = "alarm_"
MAX_NODES_DOWN = 1
"""If more nodes are down, both copies of data may be lost."""
MAX_USERS = 32_000
"""Maximum number of users in the reference, to which `cluster_users_count_approaches_limit` refers."""

AlertSettings = Mapping[str, AlertSetting]


@dataclass(frozen=True)
class NodeState:
    """Current state of a node."""

    uid: int
    is_down: bool
    engine_version: str


def database_alarms(
    uid: int, name: str, settings: AlertSettings, latest: Mapping[str, Value], memory_size: int
) -> list[Alarm]:
    """Return the alarms of a database; `latest` is the last second of its metrics."""
    requests = latest.get("total_req")
    checks = (
        (
            "bdb_size",
            _percent(latest.get("used_memory"), memory_size),
            "The memory of {who} was more than {limit}% full.",
        ),
        ("bdb_high_throughput", requests, "{who} received more than {limit} requests per second."),
        ("bdb_high_latency", latest.get("avg_latency"), "Requests to {who} took more than {limit} µs on average."),
    )
    alarms = [
        _alarm(alert, message, settings, subject=name, bdb_uid=uid)
        for alert, value, message in checks
        if _exceeds(value, settings.get(alert, OFF))
    ]
    low = settings.get("bdb_low_throughput", OFF)
    if low.enabled and low.threshold is not None and requests is not None and requests < low.threshold:
        message = "{who} received fewer than {limit} requests per second."
        alarms.append(_alarm("bdb_low_throughput", message, settings, subject=name, bdb_uid=uid))
    return alarms


def node_alarms(
    uid: int,
    settings: AlertSettings,
    latest: Mapping[str, Value],
    *,
    memory: int,
    storage: float,
    flash: int,
    aof: int = 0,
) -> list[Alarm]:
    """Return the alarms of a node; `latest` is the last second of its metrics, the other values are sizes in bytes. `aof` is the
    memory of the shards that write append-only files."""
    idle, iowait = latest.get("cpu_idle"), latest.get("cpu_iowait")
    busy = 100 * (1 - idle - iowait) if idle is not None and iowait is not None else None
    checks = (
        ("node_cpu_utilization", busy, "More than {limit}% of the CPU of {who} was busy."),
        (
            "node_memory",
            _used_percent(latest.get("available_memory"), memory),
            "The memory of {who} was more than {limit}% full.",
        ),
        (
            "node_net_throughput",
            rates.add((latest.get("ingress_bytes"), latest.get("egress_bytes"))),
            "{who} received and sent more than {limit} bytes per second.",
        ),
        (
            "node_persistent_storage",
            _full(storage, latest.get("persistent_storage_free"), latest.get("persistent_storage_avail")),
            "The storage of {who} was more than {limit}% full.",
        ),
        (
            "node_free_flash",
            _used_percent(latest.get("bigstore_free"), flash),
            "The flash of {who} was more than {limit}% full.",
        ),
    )
    alarms = [
        _alarm(alert, message, settings, subject=f"node {uid}", node_uid=uid)
        for alert, value, message in checks
        if _exceeds(value, settings.get(alert, OFF))
    ]
    available = latest.get("persistent_storage_avail")
    if settings.get("node_insufficient_disk_aofrw", OFF).enabled and available is not None and aof > available:
        message = (
            f"Node {uid} had {available:,.0f} bytes of free storage, less than the shards with append-only files use."
        )
        alarms.append(Alarm(f"{PREFIX}node_insufficient_disk_aofrw", message, node_uid=uid))
    return alarms


def cluster_alarms(settings: AlertSettings, machines: Sequence[NodeState]) -> list[Alarm]:
    """Return the alarms that concern the nodes together."""
    versions = sorted({machine.engine_version for machine in machines if machine.engine_version})
    down = [machine.uid for machine in machines if machine.is_down]
    checks = (
        (
            "cluster_multiple_nodes_down",
            len(down) > MAX_NODES_DOWN,
            f"{len(down)} nodes were down at the same time: data of databases may be lost.",
        ),
        (
            "cluster_even_node_count",
            bool(machines) and len(machines) % 2 == 0,
            f"The cluster had {len(machines)} nodes: with an even number, neither half is a majority.",
        ),
        (
            "cluster_inconsistent_rl_sw",
            len(versions) > 1,
            f"Nodes had different versions of Valkey: {', '.join(versions)}.",
        ),
        (
            "cluster_too_few_nodes_for_replication",
            len(machines) < 2,
            "The cluster had one node: replicas need a second one." if machines else "The cluster had no nodes.",
        ),
    )
    return [
        Alarm(f"{PREFIX}{alert}", message, "ERROR" if alert == "cluster_multiple_nodes_down" else "WARNING")
        for alert, is_raised, message in checks
        if is_raised and settings.get(alert, OFF).enabled
    ]


@dataclass(frozen=True)
class Committed:
    """Bytes that are promised to databases, and bytes that nodes have."""

    promised: int
    available: int


def capacity_alarms(settings: AlertSettings, ram: Committed, flash: Committed, *, users: int) -> list[Alarm]:
    """Return the alarms about what databases were promised, and about the number of users."""
    alarms = [
        Alarm(
            f"{PREFIX}{alert}",
            f"Databases were promised {each.promised:,} bytes of {kind}, but the nodes have only {each.available:,} bytes.",
            details={"promised": each.promised, "size": each.available},
        )
        for alert, kind, each in (
            ("cluster_ram_overcommit", "RAM", ram),
            ("cluster_flash_overcommit", "flash", flash),
        )
        if settings.get(alert, OFF).enabled and each.promised > each.available
    ]
    alert = "cluster_users_count_approaches_limit"
    if _exceeds(_percent(users, MAX_USERS), settings.get(alert, OFF)):
        message = f"The cluster had {users:,} users, more than {{limit}}% of {MAX_USERS:,}."
        alarms.append(_alarm(alert, message, settings, subject=""))
    return alarms


def node_check_alarms(uid: int, problem: str | None) -> list[Alarm]:
    """Return the alarm of a node whose check found this problem."""
    if problem is None:
        return []
    return [Alarm(f"{PREFIX}node_checks_error", f"The check of node {uid} found a problem. {problem}", node_uid=uid)]


def long_action_alarms(
    uid: int, name: str, settings: AlertSettings, started: datetime, description: str, now: datetime
) -> list[Alarm]:
    """Return the alarm of a database whose oldest running action started then. The threshold is in minutes."""
    setting = settings.get("bdb_long_running_action", OFF)
    if not _exceeds((now - started).total_seconds() / 60, setting):
        return []
    message = f"An action on {name} took more than {setting.threshold:,.15g} minutes: {description}."
    details = {"threshold": setting.threshold}
    return [Alarm(f"{PREFIX}bdb_long_running_action", message, bdb_uid=uid, details=details)]


@dataclass(frozen=True)
class Certificate:
    """A certificate that an administrator must renew. Certificates of databases are renewed automatically."""

    alert: str
    what: str
    valid_until: datetime
    node_uid: int | None = None


def certificate_alarms(settings: AlertSettings, certificates: Sequence[Certificate], now: datetime) -> list[Alarm]:
    """Return alarms for certificates that expire within the configured number of days."""
    alarms = []
    for certificate in certificates:
        setting = settings.get(certificate.alert, OFF)
        days_left = (certificate.valid_until - now).total_seconds() / 86_400
        if not setting.enabled or setting.threshold is None or days_left >= setting.threshold:
            continue
        expiry_text = "expired" if days_left <= 0 else "was due to expire"
        details = {"threshold": setting.threshold, "ends": certificate.valid_until.isoformat()}
        alarms.append(
            Alarm(
                f"{PREFIX}{certificate.alert}",
                f"{certificate.what} {expiry_text} on {certificate.valid_until:%Y-%m-%d}.",
                node_uid=certificate.node_uid,
                details=details,
            )
        )
    return alarms


def _alarm(
    alert: str,
    message: str,
    settings: AlertSettings,
    *,
    subject: str,
    bdb_uid: int | None = None,
    node_uid: int | None = None,
) -> Alarm:
    threshold = settings[alert].threshold
    text = message.format(who=subject, limit=f"{threshold:,.15g}")
    details = {"threshold": threshold}
    return Alarm(
        f"{PREFIX}{alert}",
        text[0].upper() + text[1:] if node_uid else text,
        "WARNING",
        bdb_uid,
        node_uid,
        details=details,
    )


def _exceeds(value: Value, setting: AlertSetting) -> bool:
    return setting.enabled and setting.threshold is not None and value is not None and value > setting.threshold


def _percent(part: Value, total: float) -> Value:
    return 100 * part / total if part is not None and total else None


def _full(size: float, free: Value, available: Value) -> Value:
    """Return the used percent as shown by `df`: space reserved for the system counts neither as used nor as free."""
    if free is None or available is None:
        return None
    return _percent(size - free, size - free + available)


def _used_percent(free: Value, size: float) -> Value:
    return _percent(size - free, size) if free is not None else None
