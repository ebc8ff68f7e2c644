"""Version 1 names: public dashboards and alert rules of Redis Enterprise find their metrics, or a listed reason."""

import tomllib
from pathlib import Path

import pytest
from backend.tests.api.metrics.busy_console import busy as busy
from backend.tests.api.metrics.test_prometheus import parsed, scrape, values

from shardboard.console import Console
from shardboard.domain.metrics import prometheus_v1_families
from shardboard.state.databases.bdbs import Bdb

NAMES = tomllib.loads((Path(__file__).parent / "prometheus_v1_names.toml").read_text())
DASHBOARDS, REFERENCE = NAMES["dashboards_and_rules"].split(), NAMES["reference"].split()
ABSENT = {name for names in NAMES["absent"].values() for name in names.split()}

RULES = (
    "bdb_avg_latency bdb_conns bdb_total_req bdb_used_memory bdb_memory_limit bdb_read_hits bdb_read_misses bdb_evicted_objects "
    "node_up node_persistent_storage_free node_persistent_storage_avail node_ephemeral_storage_free "
    "node_ephemeral_storage_avail node_available_memory node_free_memory node_cpu_idle redis_up redis_master_link_status "
    "redis_process_cpu_usage_percent dmcproxy_process_cpu_usage_percent"
)
"""Metrics of the public alert rules for version 1, except those of replication between clusters."""


def test_every_public_name_is_declared_or_absent_for_a_reason() -> None:
    declared = {family.name for family in prometheus_v1_families.ALL}
    assert {*DASHBOARDS, *REFERENCE} - declared == ABSENT
    assert len(set(DASHBOARDS)) == 232
    assert len(set(DASHBOARDS) & declared) == 164
    assert len({*DASHBOARDS, *REFERENCE} & declared) == 236


async def test_every_declared_family_has_a_value(busy: Console) -> None:
    async with busy.store.begin() as session:
        database = await session.get_one(Bdb, 1)
        database.config = {**database.config, "bigstore": True, "bigstore_ram_size": 10**8}
    reply = await scrape(busy, path="/metrics")
    families = parsed(reply.text)
    assert {family.name.removesuffix("_total") for family in prometheus_v1_families.ALL} <= families.keys()
    assert all(family.documentation for family in families.values())
    assert values(families, "bdb_avg_read_latency", bdb="1") == [pytest.approx(300e-6, rel=0.01)], "seconds"
    assert values(families, "node_avg_latency", node="1") == [pytest.approx(274, rel=0.01)], "microseconds"
    assert values(families, "bdb_memory_limit", bdb="1") == [10**9]
    assert values(families, "bdb_up", status="active") == [1]
    assert values(families, "redis_up", redis="11", role="master", node="1", bdb="1") == [1]
    assert [name for name in RULES.split() if not families[name].samples] == []
    assert reply.headers["content-encoding"] == "gzip"
    plain = await scrape(busy, path="/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == reply.headers["vary"] == "Accept-Encoding"
    assert parsed(plain.text).keys() == families.keys()


async def test_metrics_of_one_node(busy: Console) -> None:
    families = parsed((await scrape(busy, path="/v2/node", params={"uid": "1"})).text)
    assert values(families, "redis_server_up", redis="11", db="1") == [1]
    labels = [sample.labels for family in families.values() for sample in family.samples]
    assert not any({"cluster", "node"} & each.keys() for each in labels)
    assert "db_status" not in families
    assert values(families, "has_quorum") == [1]
    assert values(families, "is_primary") == [1]
    assert values(families, "node_config") == [1]
    assert (await scrape(busy, path="/v2/node")).text == (await scrape(busy, path="/v2/node", params={"uid": "1"})).text
    unknown = await scrape(busy, path="/v2/node", params={"uid": "7"})
    assert (unknown.status_code, unknown.json()["error_code"]) == (404, "node_not_found")
