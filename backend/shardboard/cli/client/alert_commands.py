"""`shardboard alert`: the alerts of databases, nodes, and the cluster, named OBJECT/ALERT, such as `orders/bdb_size`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.object_commands import group_of, require_fields, writing_command
from shardboard.cli.client.output import Column, Object, flag
from shardboard.cli.client.resources import DATABASE, NAME, NODE, Resource
from shardboard.errors import CommandError

_CLUSTER = "cluster"
_PATHS: Sequence[tuple[Resource, str]] = ((DATABASE, "/v1/bdbs/alerts"), (NODE, "/v1/nodes/alerts"))


def _read(console: Connection) -> list[dict[str, Any]]:
    """Return all alerts. Alerts of nodes and of the cluster have the thresholds of the cluster's settings."""
    found: list[dict[str, Any]] = []
    for resource, path in _PATHS:
        by_uid = console.get(path)
        for item in resources.list_all(console, resource):
            alerts = by_uid.get(str(item["uid"]), {})
            found += _items(resource.noun, item["uid"], str(item[resource.name]), alerts)
    return [*found, *_items(_CLUSTER, 0, _CLUSTER, console.get("/v1/cluster/alerts"))]


def _items(kind: str, uid: int, owner: str, alerts: Mapping[str, Object]) -> Iterator[dict[str, Any]]:
    for name, alert in alerts.items():
        threshold = alert.get("threshold") or alert["change_value"].get("global_threshold")
        yield {
            "uid": f"{kind}/{uid}/{name}",
            "name": f"{owner}/{name}",
            "kind": kind,
            "object_uid": uid,
            "alert": name,
            **alert,
            "threshold": threshold,
        }


ALERT = Resource(
    "alert",
    "alert",
    "/v1/cluster/alerts",
    (
        NAME,
        flag("ENABLED", "enabled"),
        flag("RAISED", "state"),
        Column("SEVERITY", "severity"),
        Column("THRESHOLD", "threshold"),
        Column("CHANGED", "change_time"),
    ),
    read=_read,
    shorthands={"enabled": "enabled", "threshold": "threshold"},
)


def _update(console: Connection, name: str | None, body: dict[str, Any]) -> Object:
    """Change the settings of a database's alert, or those of the cluster for alerts of nodes and of the cluster."""
    require_fields(body)
    if unknown := set(body) - set(ALERT.shorthands.values()):
        raise CommandError(f"an alert has no field {', '.join(sorted(unknown))} (fields: enabled, threshold)")
    alert = resources.find(console, ALERT, name or "")
    setting = {**body, **({"threshold": str(body["threshold"])} if "threshold" in body else {})}
    if alert["kind"] == DATABASE.noun:
        console.send("POST", f"/v1/bdbs/alerts/{alert['object_uid']}", {alert["alert"]: setting})
    else:
        has_threshold = isinstance(console.get("/v1/cluster")["alert_settings"].get(alert["alert"]), dict)
        if not has_threshold and "threshold" in setting:
            raise CommandError(f"the alert {alert['alert']} has no threshold; set only --enabled")
        value = setting if has_threshold else setting["enabled"]
        console.send("PUT", "/v1/cluster", {"alert_settings": {alert["alert"]: value}})
    return resources.find(console, ALERT, alert["uid"])


alert = group_of(ALERT)
alert.add_command(
    writing_command(
        ALERT,
        "update",
        "Enable or disable an alert, and set its threshold. Settings of alerts of nodes apply to all nodes.",
        _update,
    )
)
