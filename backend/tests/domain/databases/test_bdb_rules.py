"""Tests of the validation of databases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.cluster.policy import Policy
from shardboard.domain.databases import bdb_rules, flash
from shardboard.domain.databases.bdb_rules import ClusterContext
from shardboard.services.databases.bdb_creation import with_defaults

GIB = 2**30


def complete_spec(**spec: Any) -> dict[str, Any]:
    return with_defaults({"name": "db", "memory_size": GIB, **spec}, Policy())


def cluster_context(**changes: Any) -> ClusterContext:
    empty: dict[str, Any] = {
        "taken_uids": set(),
        "uids_in_roles": set(),
        "taken_ports": (),
        "reserved_ports": (10050,),
        "eligible_nodes": (1, 2, 3),
        "known_nodes": (1, 2, 3),
        "taken_names": (),
    }
    return ClusterContext(**{**empty, **changes})


def code_of(**spec: Any) -> str | None:
    error = bdb_rules.check_fields(complete_spec(**spec))
    return error.code if error else None


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"name": "a"},
        {"name": "a" * 63},
        {"name": "A-9"},
        {"port": 10000},
        {"port": 19999},
        {"memory_size": 0},
        {"memory_size": bdb_rules.MIN_SHARD_MEMORY},
        {"sharding": True, "shards_count": 1},
        {"sharding": True, "shards_count": 512, "memory_size": 512 * bdb_rules.MIN_SHARD_MEMORY},
        {"sharding": True, "oss_cluster": True, "shards_count": 6, "replication": True},
        {"data_persistence": "snapshot", "snapshot_policy": [{"secs": 3600, "writes": 1}]},
        {"data_persistence": "aof", "aof_policy": "appendfsync-always"},
        {"version": "4.0"},
        {"redis_version": "7.4"},
        {"version": "7.2.4", "redis_version": "7.2"},
        {"tags": [{"key": str(number), "value": ""} for number in range(30)]},
        {"backup_interval": 3600},
        {"io_threads": 0},
        {"io_threads": 128},
        {"bigstore": True},
        {"bigstore": True, "bigstore_ram_size": -(-GIB // 10)},
        {"bigstore": True, "bigstore_ram_size": GIB, "replication": True},
        {
            "bigstore": True,
            "memory_size": 12 * flash.MIN_SHARD_RAM,
            "sharding": True,
            "shards_count": 6,
            "replication": True,
        },
    ],
)
def test_valid_databases_are_accepted(spec: dict[str, Any]) -> None:
    assert bdb_rules.check_fields(complete_spec(**spec)) is None


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"io_threads": -1}, "bad_request"),
        ({"io_threads": 129}, "bad_request"),
        ({"name": ""}, "missing_db_name"),
        ({"name": "a" * 64}, "name_violation"),
        ({"name": "a b"}, "name_violation"),
        ({"name": "-a"}, "name_violation"),
        ({"name": "a-"}, "name_violation"),
        ({"name": "ä"}, "name_violation"),
        ({"name": "a\n"}, "name_violation"),
        ({"port": 9999}, "port_unavailable"),
        ({"port": 20000}, "port_unavailable"),
        ({"port": -1}, "port_unavailable"),
        ({"port": 10050}, "port_unavailable"),
        ({"memory_size": -1}, "bad_request"),
        ({"memory_size": 2**63}, "bad_request"),
        ({"memory_size": 1}, "replication_size_violation"),
        ({"memory_size": bdb_rules.MIN_SHARD_MEMORY, "replication": True}, "replication_size_violation"),
        ({"sharding": True, "shards_count": 0}, "invalid_sharding"),
        ({"sharding": True, "shards_count": 513}, "invalid_sharding"),
        ({"shards_count": 2}, "invalid_sharding"),
        ({"sharding": True, "shard_key_regex": [{"regex": "x"}]}, "invalid_sharding"),
        ({"sharding": True, "hash_slots_policy": "legacy"}, "invalid_sharding"),
        ({"oss_cluster": True}, "invalid_oss_cluster_configuration"),
        ({"oss_cluster": True, "sharding": True, "proxy_policy": "single"}, "invalid_oss_cluster_configuration"),
        ({"oss_cluster": True, "sharding": True, "hash_slots_policy": "legacy"}, "invalid_oss_cluster_configuration"),
        (
            {"oss_cluster": True, "sharding": True, "shard_key_regex": [{"regex": "x"}]},
            "invalid_oss_cluster_configuration",
        ),
        ({"proxy_policy": "some"}, "invalid_proxy_policy"),
        ({"shards_placement": "here"}, "bad_request"),
        ({"eviction_policy": "never"}, "eviction_policy_violation"),
        ({"data_persistence": "often"}, "invalid_data_persistence"),
        ({"aof_policy": "appendfsync-no"}, "invalid_data_persistence"),
        ({"data_persistence": "snapshot"}, "invalid_data_persistence"),
        (
            {"data_persistence": "snapshot", "snapshot_policy": [{"secs": 0, "writes": 1}]},
            "invalid_data_persistence",
        ),
        ({"tags": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]}, "invalid_bdb_tags"),
        ({"tags": [{"key": "", "value": ""}]}, "invalid_bdb_tags"),
        ({"tags": [{"key": "k" * 65, "value": ""}]}, "invalid_bdb_tags"),
        ({"tags": [{"key": "k", "value": "v" * 129}]}, "invalid_bdb_tags"),
        ({"tags": [{"key": str(number), "value": ""} for number in range(31)]}, "invalid_bdb_tags"),
        ({"version": "latest"}, "invalid_version"),
        ({"version": "99.9"}, "invalid_version"),
        ({"version": "7.2.4", "redis_version": "7.4"}, "invalid_version"),
        ({"backup": True}, "missing_backup_interval"),
        ({"backup": True, "backup_interval": 3600}, "missing_backup_location"),
        ({"type": "memcached"}, "not_supported"),
        ({"bigstore": True, "memory_size": 0}, "missing_memory_size"),
        ({"bigstore": True, "bigstore_ram_size": GIB // 10}, "bad_request"),
        ({"bigstore": True, "bigstore_ram_size": GIB + 1}, "bad_request"),
        ({"bigstore": True, "bigstore_ram_size": -1}, "replication_size_violation"),
        ({"bigstore": True, "memory_size": 8 * 2**20}, "replication_size_violation"),
        ({"bigstore_ram_size": GIB}, "not_supported"),
        ({"crdt": True}, "not_supported"),
        ({"tls_mode": "replica_ssl"}, "bad_request"),
        ({"ssl": True}, "not_supported"),
        ({"module_list": [{"module_name": "search"}]}, "missing_module"),
        ({"replica_sources": [{"uri": "redis://x"}]}, "not_supported"),
        ({"shards_blueprint": [{"nodes": []}]}, "bad_shards_blueprint"),
        ({"authentication_redis_pass": "with space"}, "bad_request"),
        ({"authentication_redis_pass": "x" * 513}, "bad_request"),
        ({"maxclients": 0}, "bad_request"),
        ({"max_connections": -1}, "bad_request"),
        ({"uid": -1}, "bad_request"),
    ],
)
def test_invalid_databases_are_rejected(spec: dict[str, Any], code: str) -> None:
    assert code_of(**spec) == code


def test_memory_is_shared_between_shards_on_flash() -> None:
    spec = complete_spec(bigstore=True, memory_size=40 * GIB, sharding=True, shards_count=2, replication=True)
    assert spec["bigstore_ram_size"] == 4 * GIB
    assert bdb_rules.shard_memory(spec) == flash.ShardMemory(GIB, 9 * GIB)
    assert bdb_rules.shard_memory(complete_spec(memory_size=20 * GIB, replication=True)) == flash.ShardMemory(10 * GIB)


def test_error_for_ram_size_explains_the_calculation() -> None:
    error = bdb_rules.check_fields(complete_spec(bigstore=True, bigstore_ram_size=2**20, replication=True))
    assert error is not None
    assert "divided among 2 shards" in error.message
    assert f"Set it to {2 * flash.MIN_SHARD_RAM} or more" in error.message


def test_conflicts_with_the_cluster_are_rejected() -> None:
    def code(cluster_context: ClusterContext, **spec: Any) -> str | None:
        error = bdb_rules.check_conflicts(complete_spec(**spec), cluster_context)
        return error.code if error else None

    assert code(cluster_context()) is None
    assert code(cluster_context(taken_uids={7}), uid=7) == "uid_exists"
    assert code(cluster_context(uids_in_roles={7}), uid=7) == "uid_exists"
    assert code(cluster_context(taken_ports=(12000,)), port=12000) == "port_unavailable"
    assert code(cluster_context(reserved_ports=(12000,)), port=12000) == "port_unavailable"
    assert code(cluster_context(eligible_nodes=(1,)), replication=True) == "replication_node_violation"
    assert code(cluster_context(eligible_nodes=(1,))) is None
    assert code(cluster_context(), use_nodes=["9"]) == "bad_request"


@given(st.sets(st.integers(bdb_rules.PORT_FIRST, bdb_rules.PORT_LAST), max_size=50))
def test_assigned_port_is_free_and_in_range(taken: set[int]) -> None:
    port = bdb_rules.first_free_port(taken)
    assert port is not None
    assert port not in taken
    assert port != bdb_rules.PORT_RESERVED
    assert bdb_rules.PORT_FIRST <= port <= bdb_rules.PORT_LAST


def test_port_assignment_wraps_and_reports_exhaustion() -> None:
    assert bdb_rules.first_free_port(range(12000, 20000)) == 10000
    assert bdb_rules.first_free_port(range(10000, 20000)) is None


@given(
    st.fixed_dictionaries(
        {
            "name": st.text(max_size=70),
            "memory_size": st.integers(),
            "port": st.integers(),
            "shards_count": st.integers(-5, 600),
            "sharding": st.booleans(),
            "replication": st.booleans(),
            "oss_cluster": st.booleans(),
            "version": st.text(max_size=8) | st.sampled_from(["4.0", "7.2", "8.0.1"]),
            "eviction_policy": st.text(max_size=12) | st.sampled_from(bdb_rules.EVICTION_POLICIES),
            "tags": st.lists(st.fixed_dictionaries({"key": st.text(max_size=70), "value": st.text(max_size=140)})),
        }
    )
)
def test_every_fault_has_a_sentence_a_code_and_a_field(spec: dict[str, Any]) -> None:
    error = bdb_rules.check_fields(complete_spec(**spec))
    if error is None:
        assert 1 <= spec["shards_count"] <= 512
        assert spec["memory_size"] >= 0
    else:
        assert error.code.replace("_", "").isalpha()
        assert error.message.endswith(".")
        assert error.field
