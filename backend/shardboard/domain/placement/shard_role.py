"""Role of a shard."""

from enum import StrEnum


class ShardRole(StrEnum):
    """Role in the pair. The values are those of Valkey and of the REST reference."""

    PRIMARY = "master"
    REPLICA = "slave"
