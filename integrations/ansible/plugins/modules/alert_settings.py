#!/usr/bin/python
"""Set the alerts of a database, or of the cluster and its nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: alert_settings
short_description: Set the alerts of a database, or of the cluster and its nodes
description:
  - Enables, disables, and changes thresholds of alerts. Other alerts keep their settings.
author: The Shardboard authors (@shardboard)
options:
  database:
    description: Name or uid of the database. If it is missing, the alerts of the cluster and its nodes are set.
    type: str
  alerts:
    description:
      - Settings by name of the alert, with the keys C(enabled) and C(threshold).
      - If an alert has no threshold, C(enabled) is sufficient.
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Reports changes without making them.
  diff_mode:
    support: full
    description: Returns the alerts that differ.
extends_documentation_fragment:
  - shardboard.console.console
"""

EXAMPLES = r"""
- name: Report databases that are almost full
  shardboard.console.alert_settings:
    database: orders
    alerts:
      bdb_size: {enabled: true, threshold: 85}

- name: Report nodes that are almost full
  shardboard.console.alert_settings:
    alerts:
      node_memory: {enabled: true, threshold: 85}
      node_failed: {enabled: true}
"""

RETURN = r"""
alerts:
  description: The settings by name of the alert. In check mode, the settings that they would have.
  returned: success
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.console import Failed
from ansible_collections.shardboard.console.plugins.module_utils.objects import run_settings, uid_of


def change(module, console):
    """Return the settings of all alerts, and those that differ."""
    if module.params["database"] is None:
        current = console.get("/v1/cluster").get("alert_settings", {})
        current.update({name: False for name in module.params["alerts"] if name not in current})  # missing: disabled
    else:
        uid = uid_of(module, console, "database", "/v1/bdbs", module.params["database"])
        alerts = console.get(f"/v1/bdbs/alerts/{uid}") if isinstance(uid, int) else {}  # not created yet in check mode
        current = {name: {key: alert.get(key) for key in ("enabled", "threshold")} for name, alert in alerts.items()}
    changes = {}
    for name, wanted in module.params["alerts"].items():
        setting = merged(name, current.get(name), wanted)
        if setting != current.get(name):
            changes[name] = setting
    if changes and not module.check_mode:
        if module.params["database"] is None:
            console.send("PUT", "/v1/cluster", {"alert_settings": changes})
        else:
            console.send("POST", f"/v1/bdbs/alerts/{uid}", changes)
    return current, changes


def merged(name, current, wanted):
    """Return a setting with the wanted values, in the form of the console: thresholds are text, and flags have no threshold."""
    if not isinstance(wanted, dict) or not set(wanted) <= {"enabled", "threshold"}:
        raise Failed(f"the setting of {name} must have the keys enabled and threshold")
    if isinstance(current, bool) and wanted.get("threshold") is None:
        return bool(wanted.get("enabled", current))
    setting = {**(current if isinstance(current, dict) else {}), **wanted}
    if setting.get("threshold") is not None:
        setting["threshold"] = f"{float(setting['threshold']):.15g}"
    return setting


def main():
    run_settings("alerts", {"database": {"type": "str"}, "alerts": {"type": "dict", "required": True}}, change)


if __name__ == "__main__":
    main()
