"""Who writes to shards for the proxies, where no client does: a user of the engine that can do nothing else.

Agents let every shard know it from birth; the console tells the proxies its password.
"""

import hashlib
import hmac

from shardboard.agent.contract.proxies import ProxyCanary

USER = "shardboard-canary"
COMMAND = "zremrangebylex"
"""Hardly anybody else uses it, so it is not counted as traffic of a shard."""
RIGHTS = f"~shardboard:canary:* -@all +{COMMAND} +command"
"""For what `engine/proxy/src/worker/canary.rs` sends, and for asking what the engine knows, which the first connection does."""


def password(admin_password: str) -> str:
    """Of one database: follows from a secret that console and agents have, and does not lead back to it."""
    return hmac.new(admin_password.encode(), USER.encode(), hashlib.sha256).hexdigest()


def order(admin_password: str, per_second: int) -> ProxyCanary | None:
    """What the proxies of one database are told; `per_second` 0: none are to write."""
    if per_second == 0:
        return None
    return ProxyCanary(user=USER, password=password(admin_password), interval_ms=1000 // per_second)
