#!/usr/bin/python
"""Manage an LDAP mapping."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ldap_mapping
short_description: Manage an LDAP mapping
description:
  - Creates, changes, or deletes a mapping of an LDAP group to roles.
author: The Shardboard authors (@shardboard)
options:
  dn:
    description: Distinguished name of the group. Required to create a mapping.
    type: str
  email:
    description: Email address of the group.
    type: str
  roles:
    description: Names or uids of the roles of the members.
    type: list
    elements: str
extends_documentation_fragment:
  - shardboard.console.console
  - shardboard.console.console.object
"""

EXAMPLES = r"""
- name: Members of the group reports
  shardboard.console.ldap_mapping:
    name: reports
    dn: cn=reports,ou=groups,dc=example,dc=org
    roles: [reporting]
"""

RETURN = r"""
ldap_mapping:
  description: The mapping with the fields of the REST API, without secrets. In check mode, the fields that it would have.
  returned: O(state=present)
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.objects import Kind, role_uids, run

KIND = Kind("ldap_mapping", "/v1/ldap_mappings", {"dn": {"type": "str"}, "email": {"type": "str"}})


def main():
    run(KIND, {"roles": {"type": "list", "elements": "str"}}, complete=role_uids)


if __name__ == "__main__":
    main()
