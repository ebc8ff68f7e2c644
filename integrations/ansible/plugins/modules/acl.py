#!/usr/bin/python
"""Manage an access list for data."""

from __future__ import annotations

DOCUMENTATION = r"""
module: acl
short_description: Manage an access list for data
description:
  - Creates, changes, or deletes an access list (Redis ACL) that databases use with roles.
author: The Shardboard authors (@shardboard)
options:
  acl:
    description: Rules of the access list, for example C(+@read ~report:*). Required to create one.
    type: str
extends_documentation_fragment:
  - shardboard.console.console
  - shardboard.console.console.object
"""

EXAMPLES = r"""
- name: Access to reports
  shardboard.console.acl:
    name: read-reports
    acl: +@read ~report:*
"""

RETURN = r"""
acl:
  description: The access list with the fields of the REST API, without secrets. In check mode, the fields that it would have.
  returned: O(state=present)
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.objects import Kind, run

KIND = Kind("acl", "/v1/redis_acls", {"acl": {"type": "str"}})


def main():
    run(KIND)


if __name__ == "__main__":
    main()
