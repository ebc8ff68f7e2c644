"""Tests that database JSON has the fields, types and defaults of the Redis Enterprise REST API."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.schemas.databases import bdb_fields, bdbs
from shardboard.schemas.databases.bdbs import Bdb
from shardboard.state.databases.bdbs import Bdb as BdbRow

CREATED_AT = datetime(2025, 10, 14, 0, 1, 22, tzinfo=UTC)

REFERENCE: dict[str, Any] = {
    "type": "redis",
    "port": 12000,
    "dns_address_master": "",
    "sharding": False,
    "shards_count": 1,
    "shard_key_regex": [],
    "implicit_shard_key": False,
    "hash_slots_policy": "16k",
    "oss_cluster": False,
    "oss_cluster_api_preferred_ip_type": "internal",
    "oss_cluster_api_preferred_endpoint_type": "ip",
    "oss_sharding": False,
    "shards_placement": "dense",
    "proxy_policy": "single",
    "replication": False,
    "slave_ha": False,
    "slave_ha_priority": 0,
    "rack_aware": False,
    "data_persistence": "disabled",
    "aof_policy": "appendfsync-every-sec",
    "snapshot_policy": [],
    "master_persistence": False,
    "max_aof_file_size": 322122547200,
    "max_aof_load_time": 3600,
    "eviction_policy": "volatile-lru",
    "authentication_redis_pass": "",
    "default_user": True,
    "roles_permissions": [],
    "tls_mode": "disabled",
    "enforce_client_authentication": "enabled",
    "authentication_ssl_client_certs": [],
    "bigstore": False,
    "bigstore_ram_size": 0,
    "bigstore_version": 1,
    "max_connections": 0,
    "maxclients": 10000,
    "module_list": [],
    "background_op": [{"status": "idle"}],
    "backup": False,
    "backup_interval": 86400,
    "backup_progress": 0,
    "export_status": "",
    "import_failure_reason": "",
    "dataset_import_sources": [],
    "replica_sources": [],
    "replica_sync": "disabled",
    "replica_read_only": False,
    "email_alerts": False,
    "traffic_manually_disabled": False,
    "crdt": False,
    "internal": False,
    "acl": [],
    "activedefrag": "no",
    "active_defrag_cycle_max": 25,
    "active_defrag_ignore_bytes": "104857600",
    "auto_upgrade": False,
    "client_cert_subject_validation_type": "disabled",
    "conns": 5,
    "conns_type": "per-thread",
    "crdt_modules": "[]",
    "crdt_xadd_id_uniqueness_mode": "strict",
    "group_uid": 0,
    "max_client_pipeline": 200,
    "max_pipelined": 2000,
    "mkms": True,
    "multi_commands_opt": "auto",
    "recovery_wait_time": -1,
    "repl_backlog_size": "auto",
    "resp3": True,
    "sched_policy": "cmp",
    "shard_block_foreign_keys": True,
    "skip_import_analyze": "disabled",
    "slave_buffer": "auto",
    "sync_dedicated_threads": 5,
    "syncer_mode": "distributed",
    "topology_epoch": 1,
    "tracking_table_max_keys": 1000000,
    "wait_command": True,
}


def row(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "uid": 1,
        "name": "db",
        "status": "active",
        "status_detail": "",
        "incomplete_changes": [],
        "memory_size": 100,
        "port": 12000,
        "sharding": False,
        "shards_count": 1,
        "replication": False,
        "config": {},
        "action_uid": None,
        "endpoint_nodes": [1, 3],
        "endpoint_retiring": {},
        "created_at": CREATED_AT,
        "changed_at": CREATED_AT,
    }
    return BdbRow(**{**fields, **changes})


def shard(
    uid: int, node_uid: int, *, port: int = 20000, role: str = "master", status: str = "ok", link: str = ""
) -> Any:
    return SimpleNamespace(
        uid=uid, node_uid=node_uid, port=port, current_role=role, observed_status=status, observed_link=link
    )


NODES: Any = [SimpleNamespace(uid=uid, addr=f"10.0.0.{uid}", health="up") for uid in (2, 1, 3)]
CLUSTER: Any = SimpleNamespace(name="shardboard.local", settings=ClusterSettings())


def test_defaults_and_types_match_the_redis_enterprise_api() -> None:
    rendered = bdbs.render(row(), [], NODES, CLUSTER)
    assert {name: rendered.get(name) for name in REFERENCE} == REFERENCE
    assert {name: type(rendered[name]) for name in REFERENCE} == {
        name: type(value) for name, value in REFERENCE.items()
    }
    assert rendered["created_time"] == "2025-10-14T00:01:22Z"
    assert len(rendered) >= 139
    assert "action_uid" not in rendered


def test_reply_matches_the_published_model() -> None:
    rendered = bdbs.render(row(action_uid="x"), [shard(1, 1, port=12000)], NODES, CLUSTER)
    Bdb.model_validate(rendered, strict=True)


@pytest.mark.parametrize(
    ("down", "addresses"),
    [
        (set(), ["10.0.0.1", "10.0.0.3"]),
        ({1}, ["10.0.0.3"]),
        ({1, 3}, ["10.0.0.1", "10.0.0.3"]),
    ],
)
def test_endpoint_lists_the_available_nodes_that_serve_it(down: set[int], addresses: list[str]) -> None:
    nodes: Any = [
        SimpleNamespace(uid=node.uid, addr=node.addr, health="down" if node.uid in down else "up") for node in NODES
    ]
    (endpoint,) = bdbs.render(row(), [shard(1, 2)], nodes, CLUSTER)["endpoints"]
    assert endpoint["uid"] == "1:1"
    assert endpoint["addr"] == addresses
    assert endpoint["port"] == 12000
    assert endpoint["dns_name"] == addresses[0]
    named: Any = SimpleNamespace(name="x", settings=ClusterSettings(dns_suffix="db.example.org"))
    assert bdbs.render(row(), [], nodes, named)["endpoints"][0]["dns_name"] == "redis-12000.db.example.org"


def test_shards_in_sync_and_down_are_counted() -> None:
    shards = [
        shard(1, 1),
        shard(2, 2, status="down"),
        shard(3, 3, role="slave", link="idle"),
        shard(4, 1, role="slave", link="in_progress"),
    ]
    rendered = bdbs.render(row(), shards, NODES, CLUSTER)
    assert (rendered["shards_in_sync"], rendered["shards_total"]) == (2, 4)
    assert (rendered["shards_down"], rendered["primaries_down"]) == (1, 1)
    assert rendered["shard_list"] == [1, 2, 3, 4]


def test_passwords_are_visible_only_to_editors() -> None:
    secret = row(config={"authentication_redis_pass": "s3cret"})
    assert bdbs.render(secret, [], NODES, CLUSTER)["authentication_redis_pass"] == ""
    assert bdbs.render(secret, [], NODES, CLUSTER, secrets=True)["authentication_redis_pass"] == "s3cret"


def test_credentials_in_other_fields_are_visible_only_to_editors() -> None:
    config = {
        "backup_location": {"type": "s3", "secret_access_key": "hidden-1"},
        "replica_sources": [{"uri": "redis://:hidden-2@elsewhere:12000"}],
        "dataset_import_sources": [{"type": "ftp", "url": "ftp://u:hidden-3@elsewhere"}],
    }
    rendered = bdbs.render(row(config=config), [], NODES, CLUSTER)
    assert "hidden" not in str(rendered)
    for name, default in bdb_fields.SECRETS.items():
        assert rendered[name] == default
    shown = bdbs.render(row(config=config), [], NODES, CLUSTER, secrets=True)
    assert shown["replica_sources"] == config["replica_sources"]
    assert shown["backup_location"] == {"type": "s3"}, "secrets of locations are never returned"


def test_field_tables_do_not_overlap() -> None:
    groups = [
        set(bdb_fields.COLUMNS),
        set(bdb_fields.IMPLEMENTED),
        set(bdb_fields.UNSUPPORTED),
        set(bdb_fields.STORED_WITHOUT_EFFECT),
        set(bdb_fields.WITHOUT_DEFAULT),
        set(bdb_fields.READ_ONLY),
    ]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert set(bdb_fields.CONSTANT_FIELDS) <= bdb_fields.READ_ONLY


def test_fields_that_earlier_releases_stored_have_their_fixed_value() -> None:
    stored = {"audit_settings": {"audit_mode": "connection"}, "availability_api": 7, "bigstore_ram_weights": "x"}
    rendered = bdbs.render(row(config=stored), [shard(1, 1)], NODES, CLUSTER)
    assert rendered["audit_settings"] == {"audit_mode": "disabled"}
    assert rendered["availability_api"] is True
    assert rendered["bigstore_ram_weights"] == []
    on_flash = bdbs.render(row(config={"bigstore": True}), [shard(1, 1), shard(2, 2)], NODES, CLUSTER)
    assert on_flash["bigstore_ram_weights"] == [{"shard_uid": 1, "weight": 1.0}, {"shard_uid": 2, "weight": 1.0}]
