"""Connections of a shard that clients of the database do not use."""

RESERVED = 64
"""For agents, replicas, moves of slots and probes of other nodes."""


def engine_limit(maxclients: int, engines: int) -> int:
    """Return the limit that a shard gets, so that `maxclients` connections are left for proxies.

    `engines` is the number of shards in its cluster, or 1 without a cluster. The engine counts two connections of the cluster bus
    for each of the others.
    """
    return maxclients + RESERVED + 2 * (engines - 1)
