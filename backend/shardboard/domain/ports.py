"""Ports of shards: one for clients and replicas, and the cluster bus a fixed distance above it."""

from collections.abc import Collection

SHARD_PORTS = range(20000, 25000)
BUS_OFFSET = 5000
"""Always set: the engine's default of 10000 falls into the ephemeral range."""


def first_free(taken: Collection[int]) -> int | None:
    """The lowest port that no shard of the node has; None when all are taken."""
    return next((port for port in SHARD_PORTS if port not in taken), None)
