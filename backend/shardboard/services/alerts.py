"""Which alerts a database shall raise, and which are raised."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import alert_settings, rules, threshold_alarms
from shardboard.errors import NotAcceptable
from shardboard.services.users import Principal
from shardboard.state import events
from shardboard.state.bdbs import Bdb
from shardboard.state.events import Event

_NODE_FAILED = "node_failed"
"""Told as an outage, which begins and ends like an alarm."""


def change(
    session: AsyncSession, bdb: Bdb, given: Mapping[str, Mapping[str, Any]], by: Principal, *, dry_run: bool
) -> None:
    """Change the given ones. Those that databases do not have here can only be off."""
    for name, value in given.items():
        if name in alert_settings.BDB_DEFAULTS:
            continue
        if name not in alert_settings.BDB_WITHOUT_SUBJECT:
            raise NotAcceptable("alert_not_found", f"Databases have no alert {name[:64]}.", field=name[:64])
        if value.get("enabled"):
            sentence = f"{name} cannot be switched on: nothing here can raise it."
            raise NotAcceptable("not_supported", sentence, field=name)
    before = alert_settings.of_bdb(bdb.alert_settings)
    wanted = rules.merged(
        bdb.alert_settings, {name: value for name, value in given.items() if name in alert_settings.BDB_DEFAULTS}
    )
    changed = [name for name, setting in alert_settings.of_bdb(wanted).items() if setting != before[name]]
    if changed and not dry_run:
        bdb.alert_settings = wanted
        events.record(
            session,
            "bdb_alerts_updated",
            f"Alerts of {bdb.name} were changed: {', '.join(changed)}.",
            source="bdb",
            originator=by.username,
            bdb_uid=bdb.uid,
        )


async def newest(
    session: AsyncSession, names: Collection[str], *, bdb_uid: int | None = None, node_uid: int | None = None
) -> Mapping[int | None, dict[str, Event]]:
    """The newest event about each of these alerts: by database or node, and by name."""
    types = {name if name == _NODE_FAILED else f"{threshold_alarms.PREFIX}{name}": name for name in names}
    found: Sequence[Event] = await events.newest_of_each(session, types, bdb_uid=bdb_uid, node_uid=node_uid)
    told: dict[int | None, dict[str, Event]] = defaultdict(dict)
    for event in sorted(found, key=lambda each: each.uid):
        told[event.bdb_uid if event.bdb_uid is not None else event.node_uid][types[event.type]] = event
    return told
