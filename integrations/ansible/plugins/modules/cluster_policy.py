#!/usr/bin/python
"""Change the policy of the cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_policy
short_description: Change the policy of the cluster
description:
  - Changes fields of the policy. Other fields keep their values.
author: The Shardboard authors (@shardboard)
options:
  policy:
    description: Fields of the policy, for example C(rack_aware) and C(default_shards_placement).
    type: dict
    required: true
attributes:
  check_mode:
    support: full
    description: Reports changes without making them.
  diff_mode:
    support: full
    description: Returns the fields that differ.
extends_documentation_fragment:
  - shardboard.console.console
"""

EXAMPLES = r"""
- name: Place shards in different zones
  shardboard.console.cluster_policy:
    policy:
      rack_aware: true
"""

RETURN = r"""
policy:
  description: The policy. In check mode, the policy that the cluster would have.
  returned: success
  type: dict
"""

from ansible_collections.shardboard.console.plugins.module_utils.objects import differences, run_settings

PATH = "/v1/cluster/policy"


def change(module, console):
    """Return the policy, and the fields that differ."""
    current = console.get(PATH)
    unknown = sorted(set(module.params["policy"]) - set(current))
    if unknown:
        module.fail_json(
            msg=f"the policy does not have the fields {', '.join(unknown)}; it has {', '.join(sorted(current))}"
        )
    changes = differences(current, module.params["policy"])
    if changes and not module.check_mode:
        console.send("PUT", PATH, changes)
    return current, changes


def main():
    run_settings("policy", {"policy": {"type": "dict", "required": True}}, change)


if __name__ == "__main__":
    main()
