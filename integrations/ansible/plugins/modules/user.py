#!/usr/bin/python
"""Manage a user."""

from __future__ import annotations

DOCUMENTATION = r"""
module: user
short_description: Manage a user
description:
  - Creates, changes, or deletes a user.
  - A user is identified by O(email), or by O(name) if O(email) is missing.
author: The Shardboard authors (@shardboard)
options:
  email:
    description: Email address with which the user signs in.
    type: str
  password:
    description: Password of the user. The console does not return it.
    type: str
  update_password:
    description: Whether to set the password only when the user is created, or in each run. V(always) always reports a change.
    type: str
    choices: [on_create, always]
    default: on_create
  roles:
    description: Names or uids of the roles of the user.
    type: list
    elements: str
extends_documentation_fragment:
  - shardboard.console.console
  - shardboard.console.console.object
"""

EXAMPLES = r"""
- name: User of an application
  shardboard.console.user:
    email: reports@example.org
    name: Reports
    password: "{{ reports_password }}"
    roles: [reporting]
"""

RETURN = r"""
user:
  description: The user with the fields of the REST API, without secrets. In check mode, the fields that it would have.
  returned: O(state=present)
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.objects import Kind, role_uids, run

KIND = Kind(
    "user",
    "/v1/users",
    {"email": {"type": "str"}, "password": {"type": "str", "no_log": True}},
    identifiers=("email", "name"),
    hidden="password",
    update_option="update_password",
)


def main():
    run(KIND, {"roles": {"type": "list", "elements": "str"}}, complete=role_uids)


if __name__ == "__main__":
    main()
