"""ACL rules that keep users of a database from reading addresses, ports, and paths of its shards with scripts.

Proxies reply to CLUSTER themselves. They send INFO with a section that only they know as its first argument (`contract/canary.py`),
and remove addresses and paths from the reply; the engine ignores unknown sections. Users may run INFO only with this section, so
their scripts may not.
"""

from collections.abc import Iterable

SHOWN = ("+cluster", "+info")
"""Rules that undo those of `hiding_rules` for the default user."""


def hiding_rules(info_sections: Iterable[str]) -> tuple[str, ...]:
    """Return the rules of a user who may read INFO through endpoints. Without sections, the user may not read it at all."""
    return ("-cluster", "-info", *(f"+info|{section}" for section in info_sections))
