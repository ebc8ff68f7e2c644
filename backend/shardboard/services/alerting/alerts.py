"""Alert settings of databases, and the newest events of alerts."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import rules
from shardboard.domain.alerting import alert_settings, threshold_alarms
from shardboard.errors import NotAcceptable
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.databases.bdbs import Bdb

_TYPES: Mapping[str, frozenset[str]] = {
    **alert_settings.EVENTS,
    "bdb_ram_dataset_overhead": frozenset({"alarm_ram_dataset_overhead"}),
    "bdb_ram_values": frozenset({"alarm_ram_values"}),
    "node_failed": frozenset({"node_failed"}),
}
"""Types of the events of alerts, if they differ from the name. A node failure is an outage, which starts and ends like an alarm."""


def update_settings(
    session: AsyncSession, bdb: Bdb, payload: Mapping[str, Mapping[str, Any]], principal: Principal
) -> None:
    """Change the alert settings in `given`. Alerts that Shardboard cannot raise for databases can only be disabled."""
    for name, value in payload.items():
        if name in alert_settings.BDB_DEFAULTS:
            continue
        if name not in alert_settings.UNSUPPORTED_BDB_ALERTS:
            raise NotAcceptable("alert_not_found", f"The database alert {name[:64]} does not exist.", field=name[:64])
        if value.get("enabled"):
            message = f"{name} cannot be enabled, because Shardboard does not support this alert."
            raise NotAcceptable("not_supported", message, field=name)
    previous = alert_settings.settings_for_bdb(bdb.alert_settings)
    desired = rules.merged(
        bdb.alert_settings, {name: value for name, value in payload.items() if name in alert_settings.BDB_DEFAULTS}
    )
    changed = [name for name, setting in alert_settings.settings_for_bdb(desired).items() if setting != previous[name]]
    if changed:
        bdb.alert_settings = desired
        events.record(
            session,
            "bdb_alerts_updated",
            f"Alert settings of {bdb.name} were changed: {', '.join(changed)}.",
            source="bdb",
            originator=principal.username,
            bdb_uid=bdb.uid,
        )


async def newest_events(
    session: AsyncSession, names: Collection[str], *, bdb_uid: int | None = None, node_uid: int | None = None
) -> Mapping[int | None, dict[str, Event]]:
    """Return the newest event of each of these alerts, by database or node uid, then by alert name."""
    types = {each: name for name in names for each in _TYPES.get(name, frozenset({f"{threshold_alarms.PREFIX}{name}"}))}
    newest: Sequence[Event] = await events.newest_for_each(session, types, bdb_uid=bdb_uid, node_uid=node_uid)
    newest_events: dict[int | None, dict[str, Event]] = defaultdict(dict)
    for event in sorted(newest, key=lambda each: each.uid):
        name = types[event.type]
        uid = event.bdb_uid if event.bdb_uid is not None else event.node_uid
        newest_events[None if name in alert_settings.EVENTS else uid][name] = event
    return newest_events
