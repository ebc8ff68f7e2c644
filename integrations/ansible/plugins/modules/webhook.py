#!/usr/bin/python
"""Manage a receiver of alarms and events."""

from __future__ import annotations

DOCUMENTATION = r"""
module: webhook
short_description: Manage a receiver of alarms and events
description:
  - Creates, changes, or deletes a receiver. Redis Software does not have receivers.
author: The Shardboard authors (@shardboard)
options:
  kind:
    description: Kind of the receiver. It cannot be changed.
    type: str
    choices: [webhook, alertmanager, email, syslog]
  receiver_url:
    description: Address of the receiver. Required to create one.
    type: str
  events:
    description: Events to send.
    type: str
    choices: [alarms, all, audit]
  min_severity:
    description: Lowest severity to send.
    type: str
    choices: [INFO, WARNING, ERROR]
  enabled:
    description: Whether to send messages.
    type: bool
  ca:
    description: CAs to trust, in PEM.
    type: str
  secret:
    description: Key that signs the messages. The console does not return it.
    type: str
  update_secret:
    description: Whether to set the secret only when the receiver is created, or in each run. V(always) always reports a change.
    type: str
    choices: [on_create, always]
    default: on_create
extends_documentation_fragment:
  - shardboard.console.console
  - shardboard.console.console.object
"""

EXAMPLES = r"""
- name: Send warnings to the chat
  shardboard.console.webhook:
    name: chat
    receiver_url: https://chat.example.org/hooks/alarms
    min_severity: WARNING
"""

RETURN = r"""
webhook:
  description: The receiver with the fields of the REST API, without secrets. In check mode, the fields that it would have.
  returned: O(state=present)
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.objects import Kind, run

KIND = Kind(
    "webhook",
    "/v1/webhooks",
    {
        "kind": {"type": "str", "choices": ["webhook", "alertmanager", "email", "syslog"]},
        "events": {"type": "str", "choices": ["alarms", "all", "audit"]},
        "min_severity": {"type": "str", "choices": ["INFO", "WARNING", "ERROR"]},
        "enabled": {"type": "bool"},
        "ca": {"type": "str"},
        "secret": {"type": "str", "no_log": True},
    },
    hidden="secret",
    update_option="update_secret",
)


def add_url(module, console, fields):
    if module.params["receiver_url"] is not None:
        fields["url"] = module.params["receiver_url"]


def main():
    run(KIND, {"receiver_url": {"type": "str"}}, complete=add_url)


if __name__ == "__main__":
    main()
