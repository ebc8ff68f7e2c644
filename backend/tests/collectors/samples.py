"""Sample data in the format that agents send."""

from typing import Any

from shardboard.contract import NODE_FIELDS, SHARD_FIELDS, Outage, Sample

BOOT = "0123456789abcdef" * 2


def shard(**values: float | None) -> list[float | None]:
    """Return the values of a serving primary. `values` overrides single fields."""
    defaults: dict[str, float | None] = dict.fromkeys(SHARD_FIELDS, 0.0)
    defaults |= {"pid": 4711.0, "started_at": 1000.0, "is_primary": 1.0, "link_up": 1.0}
    return list((defaults | values).values())


def sample(
    t: int,
    shards: dict[int, list[float | None]] | None = None,
    *,
    seq: int | None = None,
    boot: str = BOOT,
    **more: Any,
) -> Sample:
    """Return the sample of a node for second `t`. The network counter of its machine rises by 100 B per second."""
    machine = dict.fromkeys(NODE_FIELDS, 0.0) | {"net_in": t * 100.0, "free_memory": 5.0}
    return Sample(
        seq=t if seq is None else seq,
        boot=boot,
        t=t,
        at=t + 0.1,
        node=list(machine.values()),
        shards=shards or {},
        missing=more.get("missing", {}),
        died=more.get("died", {}),
        proxy=more.get("proxy"),
        proxy_missing=more.get("proxy_missing", ""),
        late_proxy=more.get("late_proxy"),
        outages=more.get("outages", []),
    )


def outage(noticed_ms: int, **values: Any) -> Outage:
    """Return an outage of a primary of database 1 on node 2 that last answered 10 ms before `noticed_ms`."""
    defaults: dict[str, Any] = {"uid": 1, "address": "10.0.0.2", "port": 20000, "slots": [(0, 5460)]}
    counts = {"last_success_ms": noticed_ms - 10, "first_success_ms": None, "waited": 0, "failed": 0, "lost": 0}
    return Outage(**(defaults | counts | {"noticed_ms": noticed_ms} | values))
