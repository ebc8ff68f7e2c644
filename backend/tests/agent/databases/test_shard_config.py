"""Tests of the generated `valkey.conf` and `nodes.conf`. `driver/test_valkey_cluster.py` tests them with the engine."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from backend.tests.support.real_shards import FIRST_PORT, PASSWORD, standalone_shard, start_request

from shardboard.agent.databases import shard_config
from shardboard.agent.databases.flash import Flash
from shardboard.contract import APPLICATION_RIGHTS, Peer, ShardTls, TierSpec, canary

RIGHTS = f"{APPLICATION_RIGHTS} -select -move -swapdb"
"""Rights of the default user on an engine whose version is unknown."""
A, B, C, D = (character * 40 for character in "abcd")


def conf(address: str = "10.0.0.1", shard: dict[str, Any] | None = None, **changes: Any) -> list[str]:
    return shard_config.valkey_conf(
        start_request(**changes).bdb, standalone_shard(1, **(shard or {})), address
    ).splitlines()


def peers() -> list[Peer]:
    def peer(engine_id: str, pair: str, port: int, epoch: int, **overrides: Any) -> Peer:
        return Peer(
            engine_id=engine_id,
            pair_id=pair * 40,
            address="10.0.0.9",
            port=port,
            bus_port=port + 5000,
            epoch=epoch,
            **overrides,
        )

    return [
        peer(A, "1", 20000, 1, slots=[(0, 8191)]),
        peer(B, "2", 20001, 2, slots=[(8192, 16383)]),
        peer(C, "1", 20002, 1, primary_engine_id=A),
        peer(D, "2", 20003, 2, primary_engine_id=B),
    ]


def test_flash_shard_loads_the_module_with_its_directory() -> None:
    flash = Flash(Path('/mnt/fast "one"'), 10**9, Path("/usr/lib/libshardboard_tier.so"))
    tier = TierSpec(ram_limit=1000, flash_limit=90_000_000)
    lines = shard_config.valkey_conf(start_request(tier=tier).bdb, standalone_shard(7), "10.0.0.1", flash).splitlines()
    assert [line for line in lines if "tier" in line] == [
        'loadmodule "/usr/lib/libshardboard_tier.so"',
        'tier.flash-path "/mnt/fast \\"one\\"/shards/7"',
        "tier.flash-limit 90000000",
        "tier.segment-size 5570560",
        "tier.ram-limit 1000",
    ]
    assert not any("tier" in line for line in conf())


def test_nodes_conf_lists_all_nodes_of_the_cluster() -> None:
    assert shard_config.nodes_conf(peers(), B) == (
        f"{A} 10.0.0.9:20000@25000,,tls-port=0,shard-id={'1' * 40} master - 0 0 1 disconnected 0-8191\n"
        f"{B} 10.0.0.9:20001@25001,,tls-port=0,shard-id={'2' * 40} myself,master - 0 0 2 connected 8192-16383\n"
        f"{C} 10.0.0.9:20002@25002,,tls-port=0,shard-id={'1' * 40} slave {A} 0 0 1 disconnected\n"
        f"{D} 10.0.0.9:20003@25003,,tls-port=0,shard-id={'2' * 40} slave {B} 0 0 2 disconnected\n"
        "vars currentEpoch 2 lastVoteEpoch 0\n"
    )


def test_swapped_nodes_conf_exchanges_primary_and_replica() -> None:
    lines = shard_config.nodes_conf(peers(), B, swap_with=D).splitlines()
    fields = {line.split(" ")[0]: line.split(" ") for line in lines[:-1]}
    assert (fields[D][2], fields[D][8:]) == ("master", ["8192-16383"])
    assert (fields[B][2], fields[B][3], fields[B][8:]) == ("myself,slave", D, [])
    assert (fields[A][2], fields[A][8:]) == ("master", ["0-8191"])
    assert {line[6] for line in fields.values()} == {"0"}
    assert lines[-1] == "vars currentEpoch 1 lastVoteEpoch 0"


def test_slot_ranges_and_single_slots_are_listed() -> None:
    [line, _] = shard_config.nodes_conf([peers()[0].model_copy(update={"slots": [(5, 5), (7, 9)]})], A).splitlines()
    assert line.endswith("connected 5 7-9")


TLS = ShardTls(cas="authority", certificate="certificate", key="key")


def test_encrypted_shard_listens_only_with_tls() -> None:
    lines = conf(tls=TLS, cluster=True)
    assert "port 0" in lines
    assert f"tls-port {FIRST_PORT + 1}" in lines
    assert f"port {FIRST_PORT + 1}" not in lines
    assert {"tls-auth-clients yes", "tls-replication yes", "tls-cluster yes", "tls-protocols TLSv1.3"} <= set(lines)
    # Clients of the Unix socket get the unencrypted ports, so both announced ports are the same.
    assert {f"cluster-announce-{kind}port {FIRST_PORT + 1}" for kind in ("", "tls-")} <= set(lines)
    assert "tls-cluster yes" not in conf(tls=TLS)
    assert "tls-replication yes" in conf(tls=TLS)
    assert not any("tls" in line for line in conf(cluster=True))


def test_peers_of_an_encrypted_cluster_have_tls_ports() -> None:
    lines = shard_config.nodes_conf(peers(), B, tls=True).splitlines()
    assert lines[0].startswith(f"{A} 10.0.0.9:20000@25000,,tcp-port=20000,shard-id=")
    swapped = shard_config.nodes_conf(peers(), B, swap_with=D, tls=True).splitlines()
    assert all("tcp-port=2000" in line for line in swapped[:-1])


def test_passwords_are_hashed_where_the_engine_allows_it() -> None:
    lines = conf(client_password="open sesame")
    digest = hashlib.sha256(b"open sesame").hexdigest()
    assert f"user default on #{digest} ~* &* {RIGHTS}" in lines
    other = hashlib.sha256(b"close").hexdigest()
    both = conf(client_password="open sesame", other_passwords_sha256=[other])
    assert f"user default on #{digest} #{other} ~* &* {RIGHTS}" in both
    assert not any("sesame" in line for line in lines)
    assert [line for line in lines if PASSWORD in line] == [f"masterauth {PASSWORD}"]
    admin = hashlib.sha256(PASSWORD.encode()).hexdigest()
    assert f"user shardboard on #{admin} ~* &* +@all" in lines
    assert f"user shardboard on #{admin} #{other} ~* &* +@all" in conf(other_admin_passwords_sha256=[other])
    [canaries] = [line for line in lines if line.startswith("user shardboard-canary ")]
    digest = hashlib.sha256(canary.derive_password(PASSWORD).encode()).hexdigest()
    assert (
        canaries
        == f"user shardboard-canary on #{digest} ~shardboard:canary:* -@all +zremrangebylex +command +cluster|nodes"
    )
    assert canary.derive_password(PASSWORD) != canary.derive_password("another")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, f"user default on nopass ~* &* {RIGHTS}"),
        ({"default_user": False}, "user default off"),
        ({}, 'save ""'),
        ({"save": [(60, 100)]}, "save 60 100"),
        ({"appendonly": True}, "appendonly yes"),
        ({"appendfsync": "always"}, "appendfsync always"),
        ({"maxmemory": 5_000_000_000}, "maxmemory 5000000000"),
        ({"hz": 1}, "hz 1"),
        ({}, "repl-diskless-load on-empty-db"),
        ({}, "rdbcompression no"),
        ({"save": [(60, 100)]}, "rdbcompression yes"),
        ({"appendonly": True}, "rdbcompression yes"),
    ],
)
def test_settings_are_written_to_the_configuration(changes: dict[str, Any], line: str) -> None:
    assert line in conf(**changes)


def test_replicaof_is_set_only_outside_cluster_mode() -> None:
    replica = {"role": "slave", "primary": ("10.0.0.2", FIRST_PORT)}
    assert f"replicaof 10.0.0.2 {FIRST_PORT}" in conf(shard=replica)
    assert not any(line.startswith("replicaof") for line in conf(shard=replica, cluster=True))
    assert not any(line.startswith("cluster") for line in conf(shard=replica))


def test_bus_port_is_always_set_in_cluster_mode() -> None:
    lines = conf(cluster=True, peers=peers())
    port = FIRST_PORT + 1
    for line in (f"cluster-port {port + 5000}", f"cluster-announce-port {port}", "cluster-announce-ip 10.0.0.1"):
        assert line in lines


def test_slot_counts_are_enabled_in_clusters_if_supported() -> None:
    def counts_slots(version: str, *, cluster: bool) -> bool:
        text = shard_config.valkey_conf(
            start_request(cluster=cluster).bdb, standalone_shard(1), "10.0.0.1", engine_version=version
        )
        return "cluster-slot-stats-enabled yes" in text

    assert counts_slots("9.1.2", cluster=True)
    assert not counts_slots("8.0.1", cluster=True)
    assert not counts_slots("", cluster=True)
    assert not counts_slots("9.1.2", cluster=False)


def test_all_shards_of_a_database_have_the_same_secret_hash_seed() -> None:
    def seeds(version: str, uid: int = 1, **changes: Any) -> list[str]:
        text = shard_config.valkey_conf(
            start_request(**changes).bdb, standalone_shard(uid), "10.0.0.1", engine_version=version
        )
        return [line.split()[1] for line in text.splitlines() if line.startswith("hash-seed ")]

    (seed,) = seeds("9.1.2")
    assert seeds("9.1.2", 2) == [seed]
    assert seeds("10.0.0") == [seed]
    assert seeds("9.1.2", admin_password="other") != [seed]
    assert PASSWORD not in seed
    assert seeds("9.0.1") == seeds("8.1.9") == seeds("") == []


def test_io_threads_are_set_only_above_one() -> None:
    assert "io-threads 3" in conf(io_threads=3)
    assert not any("io-threads" in line for line in conf())
