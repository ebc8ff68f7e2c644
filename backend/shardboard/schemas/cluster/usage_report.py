"""The usage report of databases in the format of the Redis Enterprise REST API: JSON lines, followed by their MD5 hash."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from shardboard import __version__
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.schemas.row_protocols import BdbRow, ClusterRow, ShardRow
from shardboard.schemas.timestamps import iso

LICENSE = (
    "activation_date",
    "expiration_date",
    "ram_shards_in_use",
    "ram_shards_limit",
    "flash_shards_in_use",
    "flash_shards_limit",
    "shards_limit",
)


def render(
    cluster: ClusterRow,
    license_: Mapping[str, Any],
    bdbs: Sequence[tuple[BdbRow, Sequence[ShardRow], Mapping[str, float]]],
    now: datetime,
) -> bytes:
    """Render the report. `bdbs` are databases with their shards and the values of their newest second."""
    common = {
        "cluster_name": cluster.name,
        # The cluster has no UUID. This one is stable during its lifetime.
        "cluster_uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{cluster.name}/{cluster.created_at.isoformat()}")),
        "date": iso(now),
        "software_version": __version__,
        "api_version": "1",
        "license": {name: license_[name] for name in LICENSE},
    }
    lines = [json.dumps({**common, **_line(*each)}, separators=(",", ":")) + "\n" for each in bdbs]
    text = "".join(lines).encode()
    return text + hashlib.md5(text, usedforsecurity=False).hexdigest().encode() + b"\n"


def _line(bdb: BdbRow, shards: Sequence[ShardRow], seen: Mapping[str, float]) -> dict[str, Any]:
    on_flash = bool(bdb.config.get("bigstore"))
    return {
        "bdb_uid": str(bdb.uid),
        "type": "auto_tiering" if on_flash else "core",
        "shard_type": "auto_tiering" if on_flash else "normal",
        "dominant_shard_criteria": "rof" if on_flash else "mem",
        "provisioned_memory": bdb.memory_size,
        "used_memory": round(seen.get("used_memory", 0)),
        "master_shards_count": sum(shard.current_role == ShardRole.PRIMARY for shard in shards),
        "no_eviction": bdb.config.get("eviction_policy") == "noeviction",
        "persistence": bdb.config.get("data_persistence", "disabled") != "disabled",
        "backup": False,
        "using_redis_search": False,
        "ops_sec": round(seen.get("instantaneous_ops_per_sec", 0)),
        "replication": bdb.replication,
        "active_active": False,
    }
