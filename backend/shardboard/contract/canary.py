"""The engine user for canary writes of the proxies. It has no other permissions.

Agents configure it in each shard from the start; the console sends its password to the proxies.
"""

import hashlib
import hmac

from shardboard.contract.proxies import ProxyCanary

USER = "shardboard-canary"
COMMAND = "zremrangebylex"
"""Command of canary writes. It is rarely used by applications, so it is not counted as traffic of a shard."""
RIGHTS = f"~shardboard:canary:* -@all +{COMMAND} +command +cluster|nodes"
"""For what `engine/proxy/src/worker/upstream/canaries.rs` sends, for COMMAND, which the first connection uses to read the engine's
commands, and for CLUSTER NODES, with which proxies check the owners of slots during SCAN.
"""

USER_COMMAND = ("ACL", "SETUSER", USER, *RIGHTS.split())
"""Command that updates the rights on a running shard, which an earlier release may have started with fewer."""


def derive_password(admin_password: str) -> str:
    """Return the password for one database. It is derived from a secret of console and agents, which cannot be computed from it."""
    return hmac.new(admin_password.encode(), USER.encode(), hashlib.sha256).hexdigest()


def info_section(admin_password: str) -> str:
    """Return the section with which proxies of one database send INFO (`engine/proxy/src/worker/requests/fanout.rs`). They derive
    it from the password for canary writes. Users may run INFO only with it, so that their scripts may not.
    """
    return derive_password(admin_password)[:32]


def settings_for(admin_password: str, per_second: int) -> ProxyCanary | None:
    """Return the canary settings for the proxies of one database; None if `per_second` is 0 (no canary writes)."""
    if per_second == 0:
        return None
    return ProxyCanary(user=USER, password=derive_password(admin_password), interval_ms=1000 // per_second)
