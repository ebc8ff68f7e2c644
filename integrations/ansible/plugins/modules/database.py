#!/usr/bin/python
"""Manage a database."""

from __future__ import annotations

DOCUMENTATION = r"""
module: database
short_description: Manage a database
description:
  - Creates, changes, or deletes a database, and waits until it is active or deleted.
author: The Shardboard authors (@shardboard)
options:
  memory_size:
    description: Memory limit in bytes, replicas included. Required to create a database.
    type: int
  shards_count:
    description: Number of primary shards.
    type: int
  sharding:
    description: Whether the database can have several shards. The default is true if O(shards_count) is greater than 1.
    type: bool
  replication:
    description: Whether each primary shard has a replica.
    type: bool
  port:
    description: Port of the endpoint. By default, the console assigns one.
    type: int
  data_persistence:
    description: Persistence on disk.
    type: str
    choices: [disabled, aof, snapshot]
  eviction_policy:
    description: Eviction policy, for example V(volatile-lru).
    type: str
  authentication_redis_pass:
    description: Password of the default user. The console does not return it.
    type: str
  update_password:
    description: Whether to set the password only when the database is created, or in each run. V(always) always reports a change.
    type: str
    choices: [on_create, always]
    default: on_create
  roles_permissions:
    description: Roles that can use the database, with their access lists.
    type: list
    elements: dict
    suboptions:
      role:
        description: Name or uid of the role.
        type: str
        required: true
      acl:
        description: Name or uid of the access list.
        type: str
        required: true
extends_documentation_fragment:
  - shardboard.console.console
  - shardboard.console.console.object
"""

EXAMPLES = r"""
- name: Database with three shards and replicas
  shardboard.console.database:
    name: orders
    memory_size: "{{ '1GB' | human_to_bytes }}"
    shards_count: 3
    replication: true
    roles_permissions:
      - role: reporting
        acl: read-reports

- name: Delete it
  shardboard.console.database:
    name: orders
    state: absent
"""

RETURN = r"""
database:
  description: The database with the fields of the REST API, without secrets. In check mode, the fields that it would have.
  returned: O(state=present)
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.console import Failed
from ansible_collections.shardboard.console.plugins.module_utils.objects import Kind, run, uid_of

KIND = Kind(
    "database",
    "/v1/bdbs",
    {
        "memory_size": {"type": "int"},
        "shards_count": {"type": "int"},
        "sharding": {"type": "bool"},
        "replication": {"type": "bool"},
        "port": {"type": "int"},
        "data_persistence": {"type": "str", "choices": ["disabled", "aof", "snapshot"]},
        "eviction_policy": {"type": "str"},
        "authentication_redis_pass": {"type": "str", "no_log": True},
    },
    hidden="authentication_redis_pass",
    update_option="update_password",
)
PERMISSION = {"role": {"type": "str", "required": True}, "acl": {"type": "str", "required": True}}


def complete(module, console, fields):
    """Set `sharding` for several shards, and replace names in permissions by uids."""
    if fields.get("shards_count", 1) > 1:
        fields.setdefault("sharding", True)
    if module.params["roles_permissions"] is not None:
        fields["roles_permissions"] = [
            {
                "role_uid": uid_of(module, console, "role", "/v1/roles", permission["role"]),
                "redis_acl_uid": uid_of(module, console, "access list", "/v1/redis_acls", permission["acl"]),
            }
            for permission in module.params["roles_permissions"]
        ]


def settle(console, database):
    """Wait until the database is active, and return it."""
    path = f"{KIND.path}/{database['uid']}"

    def is_active():
        database.update(console.get(path))
        if database["status"] == "creation-failed":
            raise Failed(f"the database was not created: {database.get('status_detail') or 'see the event log'}")
        return database["status"] == "active"

    console.wait_until(is_active, f"the database is not active after {console.wait_timeout} s")
    return database


def main():
    permissions = {"type": "list", "elements": "dict", "options": PERMISSION}
    run(KIND, {"roles_permissions": permissions}, complete, settle)


if __name__ == "__main__":
    main()
