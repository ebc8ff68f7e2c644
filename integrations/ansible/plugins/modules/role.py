#!/usr/bin/python
"""Manage a role."""

from __future__ import annotations

DOCUMENTATION = r"""
module: role
short_description: Manage a role
description:
  - Creates, changes, or deletes a role for users.
author: The Shardboard authors (@shardboard)
options:
  management:
    description: Permissions to manage the cluster. Required to create a role.
    type: str
extends_documentation_fragment:
  - shardboard.console.console
  - shardboard.console.console.object
"""

EXAMPLES = r"""
- name: Role that can see databases
  shardboard.console.role:
    name: reporting
    management: db_viewer
"""

RETURN = r"""
role:
  description: The role with the fields of the REST API, without secrets. In check mode, the fields that it would have.
  returned: O(state=present)
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.objects import Kind, run

KIND = Kind("role", "/v1/roles", {"management": {"type": "str"}})


def main():
    run(KIND)


if __name__ == "__main__":
    main()
