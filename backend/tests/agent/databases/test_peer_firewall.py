"""Tests of the packet filter for the ports of shards: its rules, its removal, and its effect between network namespaces."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.agent.databases import peer_firewall
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.peer_firewall import PeerFirewall
from shardboard.contract import PeerAccess

NAMESPACE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
PEERS = PeerAccess(enabled=True, addresses=["10.0.0.2", "fd00::2", "db.example.org"])


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return a function that returns the scripts that a replacement for `nft` has received. If a file `refuse` exists, it fails."""
    (tmp_path / "nft").write_text(
        f'#!/bin/sh\ncd {tmp_path}\nif [ -e refuse ]; then echo "Operation not permitted" >&2; exit 1; fi\n'
        '[ "$*" = "-f -" ] || exit 2\n(cat; echo END) >> scripts\n'
    )
    (tmp_path / "nft").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def read() -> list[str]:
        if not (tmp_path / "scripts").exists():
            return []
        return [" ".join(text.split()) for text in (tmp_path / "scripts").read_text().split("END\n")[:-1]]

    return read


def shard(port: int, *, cluster: bool = True, replies: str | EngineError = "") -> Any:
    async def connect() -> Any:
        async def execute(*_: str) -> str:
            if isinstance(replies, EngineError):
                raise replies
            return replies

        return SimpleNamespace(execute=execute)

    spec = SimpleNamespace(port=port, bus_port=port + 5000)
    return SimpleNamespace(record=SimpleNamespace(spec=spec, bdb=SimpleNamespace(cluster=cluster)), connect=connect)


def firewall(address: str, *shards: Any) -> PeerFirewall:
    supervisor: Any = SimpleNamespace(shards=dict(enumerate(shards)))
    return PeerFirewall(supervisor, address)


async def test_only_peers_are_admitted_to_the_ports_of_shards(scripts: Callable[[], list[str]]) -> None:
    found = firewall("10.0.0.1", shard(20001), shard(20002, cluster=False))
    report = await found.set_peers(PEERS, ["10.0.0.9"])
    assert (report.state, report.detail) == ("active", "")
    [script] = scripts()
    table = "inet shardboard_shards_a000001"
    assert script.startswith(f"add table {table} delete table {table} table {table} {{")
    assert "elements = { 20001 timeout 60s, 20002 timeout 60s, 25001 timeout 60s }" in script
    peers = script.partition("type ipv4_addr; elements = { ")[2].partition(" }")[0].split(", ")
    assert sorted(peers) == ["10.0.0.1", "10.0.0.2", "10.0.0.9"]
    assert 'iifname "lo" accept ip daddr 10.0.0.1 tcp dport @ports ip saddr != @peers counter drop' in script
    await found.set_peers(PEERS, ["10.0.0.9"])
    assert len(scripts()) == 1, "nothing has changed"
    await found.set_peers(PeerAccess(enabled=False), [])
    assert (found.report.state, scripts()[1:]) == ("off", [f"add table {table} delete table {table}"])


async def test_rules_for_an_ipv6_address_contain_ipv6_peers(scripts: Callable[[], list[str]]) -> None:
    found = firewall("fd00::1", shard(20001))
    assert (await found.set_peers(PEERS, ["::1"])).state == "active"
    [script] = scripts()
    assert "ip6 daddr fd00::1 tcp dport @ports ip6 saddr != @peers counter drop" in script
    assert "fd00::2" in script
    assert "10.0.0.2" not in script


async def test_new_shards_are_added_and_rules_are_renewed(
    scripts: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_firewall, "CHECK_SECONDS", 0.01)
    found = firewall("10.0.0.1")
    running = asyncio.create_task(found.run())
    await wait_until(scripts)
    await found.set_peers(PEERS, [])
    found._supervisor.shards[7] = shard(20007)
    await wait_until(lambda: "20007" in scripts()[-1])
    monkeypatch.setattr(peer_firewall, "RENEW_SECONDS", 0.0)
    before = len(scripts())
    await wait_until(lambda: len(scripts()) > before + 2)
    await found.close()
    running.cancel()
    assert scripts()[0] == scripts()[-1] == " ".join(f"{verb} table {found._table}" for verb in ("add", "delete"))
    await found.set_peers(PEERS, [])
    assert "ports" not in scripts()[-1], "a closed firewall applies nothing"


@pytest.mark.parametrize("own", ["127.0.0.2", "::1", "db1.example.org"])
async def test_unreachable_and_unknown_addresses_are_not_filtered(own: str, scripts: Callable[[], list[str]]) -> None:
    found = firewall(own, shard(20001))
    report = await found.set_peers(PEERS, [])
    assert report.state == "unavailable"
    assert "address" in report.detail
    await found.close()
    assert scripts() == []


async def test_missing_permission_is_reported_and_tried_again(
    scripts: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "refuse").touch()
    found = firewall("10.0.0.1", shard(20001))
    report = await found.set_peers(PEERS, [])
    assert report.model_dump() == {
        "state": "unavailable",
        "detail": "the agent is not permitted to filter packets: Operation not permitted",
    }
    (tmp_path / "refuse").unlink()
    assert (await found.set_peers(PEERS, [])).state == "unavailable", "not tried again at once"
    monkeypatch.setattr(peer_firewall, "RENEW_SECONDS", 0.0)
    assert (await found.set_peers(PEERS, [])).state == "active"


async def test_missing_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    report = await firewall("10.0.0.1", shard(20001)).set_peers(PEERS, [])
    assert (report.state, report.detail) == (
        "unavailable",
        "the program nft (Debian package nftables) is not installed on this node",
    )


async def test_rules_that_would_cut_off_the_cluster_are_not_applied(scripts: Callable[[], list[str]]) -> None:
    """For example with address translation between nodes."""
    line = "id=3 addr={}:5 laddr=10.0.0.1:20001 fd=1 name= user=shardboard\n"
    found = firewall("10.0.0.1", shard(20001, replies=line.format("10.0.0.2") + line.format("172.17.0.1")))
    report = await found.set_peers(PEERS, [])
    assert report.state == "unavailable"
    assert report.detail == "connections of the cluster come from 172.17.0.1, which is not an address of a node"
    assert scripts() == []
    local = "".join(map(line.format, ("10.0.0.1", "127.0.0.1", "./valkey.sock:0", "[fd00::2]")))
    for replies in (local, EngineError("ERR syntax error")):
        assert (await firewall("10.0.0.1", shard(20001, replies=replies)).set_peers(PEERS, [])).state == "active"


@pytest.mark.parametrize(
    "addresses",
    [("10.9.0.1", "10.9.0.2", "10.9.0.3"), pytest.param(("fd00::1", "fd00::2", "fd00::3"), marks=pytest.mark.slow)],
)
def test_strangers_cannot_connect_to_shards(addresses: tuple[str, str, str], tmp_path: Path) -> None:
    """A peer and a stranger in another network namespace connect to a real shard, with `support/firewalled_shard.py`."""
    result = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "backend.tests.support.firewalled_shard", str(tmp_path), *addresses],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")
    if shutil.which("nft") is None:
        assert (
            result.stdout
            == "open\nunavailable the program nft (Debian package nftables) is not installed on this node\n"
        )
        pytest.skip("needs nft")
    steps = ["open", "active", "filtered", "peer", "local", "other-port", "expired", "off"]
    assert result.stdout.split() == steps
