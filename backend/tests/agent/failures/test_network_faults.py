"""Tests of simulated network failures: routes and packet filter rules, and their effect in a network namespace."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from shardboard.agent.failures import network_faults
from shardboard.agent.failures.network_faults import PROBE_ADDRESSES, PacketLoss, Partition

UNSHARE = ("unshare", "--map-root-user", "--net")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file in which replacements for `ip` and `nft` record their arguments."""
    log = tmp_path / "calls"
    for program in ("ip", "nft"):
        (tmp_path / program).write_text(f'#!/bin/sh\necho "$@" >> {log}\n')
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return log


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return the record of a running drill."""
    path = tmp_path / "drills" / "1.json"
    path.parent.mkdir()
    path.touch()
    return path


def test_partition_on_a_separate_machine_drops_routes_to_peers(calls: Path, record: Path) -> None:
    partition = Partition("10.0.0.2", ["10.0.0.3", "10.0.0.1", "10.0.0.2", "10.0.0.1"], 9700)
    assert partition.unsupported_reason() == ""
    partition.start(60, record)
    partition.end()
    routes = {
        verb: [f"-4 route {verb} blackhole 10.0.0.{peer}/32 table 9700" for peer in (1, 3)] for verb in ("add", "del")
    }
    rules = {
        verb: [
            f"-4 rule {verb} priority 9700 ipproto udp sport 9700 lookup main",
            f"-4 rule {verb} priority 9701 lookup 9700",
        ]
        for verb in ("add", "del")
    }
    assert calls.read_text().splitlines()[2:] == [*rules["add"], *routes["add"], *routes["del"], *rules["del"]]
    assert PROBE_ADDRESSES[4] in calls.read_text().splitlines()[0]


def test_partition_of_nodes_with_ipv6_addresses_drops_routes_to_peers(calls: Path, record: Path) -> None:
    cut = Partition("fd00::2", ["fd00::1", "10.0.0.1"], 9700)
    assert cut.unsupported_reason() == ""
    assert [address in calls.read_text() for address in PROBE_ADDRESSES.values()] == [True, True]
    before = len(calls.read_text().splitlines())
    cut.start(60, record)
    cut.end()
    peers = ("-4 route {} blackhole 10.0.0.1/32 table 9700", "-6 route {} blackhole fd00::1/128 table 9700")
    routes = [line for line in calls.read_text().splitlines()[before:] if " route " in line]
    assert routes == [peer.format(what) for what in ("add", "del") for peer in peers]
    rules = [line for line in calls.read_text().splitlines()[before:] if " rule " in line]
    assert [line.split()[0] for line in rules] == ["-4", "-4", "-6", "-6"] * 2


def test_partition_on_loopback_drops_the_route_to_the_node(calls: Path, record: Path) -> None:
    partition = Partition("127.0.0.2", ["127.0.0.1"], 9700)
    partition.start(60, record)
    partition.end()
    assert calls.read_text().splitlines() == [
        f"-4 route {verb} blackhole 127.0.0.2/32 table local" for verb in ("add", "del")
    ]


@pytest.mark.parametrize(
    ("exists", "has_directory", "removes"), [(True, True, True), (False, True, False), (False, False, True)]
)
@pytest.mark.slow
def test_the_watchdog_of_a_drill_that_has_ended_changes_nothing(
    calls: Path,
    record: Path,
    monkeypatch: pytest.MonkeyPatch,
    exists: bool,
    has_directory: bool,
    removes: bool,
) -> None:
    """It outlives a killed agent, and must not end a later drill. Without the directory, no agent can end the drill."""
    monkeypatch.setattr(network_faults, "MARGIN", 0)
    if not exists:
        record.unlink()
    if not has_directory:
        record.parent.rmdir()
    partition = Partition("127.0.0.2", ["127.0.0.1"], 9700)
    partition.start(0 if exists else 3600, record)
    assert partition._watchdog is not None
    assert partition._watchdog.wait() == 0
    assert (len(calls.read_text().splitlines()) == 2) is removes
    assert not record.exists()


def test_unsupported_partitions_are_refused(calls: Path) -> None:
    assert (
        Partition("10.0.0.2", ["10.0.0.2"], 9700).unsupported_reason()
        == "there is no other node to cut this one off from"
    )


@pytest.mark.parametrize(
    ("own", "arriving", "name"),
    [
        ("10.0.0.2", 'iifname != "lo"', "a000002"),
        ("fd00::2", 'iifname != "lo"', "fd000000000000000000000000000002"),
        ("127.0.0.2", "ip daddr 127.0.0.2", "7f000002"),
        ("::1", "ip6 daddr ::1", "1"),
    ],
)
def test_slow_node_drops_some_incoming_packets(calls: Path, own: str, arriving: str, name: str, record: Path) -> None:
    slow = PacketLoss(own)
    table = f"inet shardboard_slow_{name}"
    rules = (
        f"add table {table}; add chain {table} arriving {{ type filter hook input priority -300; }}; "
        f"add rule {table} arriving {arriving} numgen random mod 100 < 5 drop"
    )
    assert slow.unsupported_reason() == ""
    slow.start(60, record)
    slow.end()
    assert calls.read_text().splitlines() == [f"{rules}; delete table {table}", rules, f"delete table {table}"]


CUT_OFF = """
import socket
from shardboard.agent.failures.network_faults import Partition

listener = socket.create_server(("127.9.9.1", 7000))
client = socket.create_connection(("127.9.9.1", 7000), source_address=("127.9.9.2", 0))
server, _ = listener.accept()
client.settimeout(0.5)
cut = Partition("127.9.9.1", ["127.9.9.2"], 9700)
assert cut.unsupported_reason() == "", cut.unsupported_reason()
cut.start(60, RECORD)
server.send(b"x")
client.send(b"x")
server.settimeout(0.5)
try:
    server.recv(1)
    raise AssertionError("the data arrived while the node was cut off")
except TimeoutError:
    pass
cut.end()
server.settimeout(30)
assert server.recv(1) == b"x", "the data did not arrive after the network was restored"
"""


END_PORT = """
import asyncio
import logging
import os
import subprocess
import time
from shardboard.agent.failures import drill_end_port
from shardboard.agent.failures.network_faults import Partition
from shardboard.contract import Drill
from shardboard.driver.failures import drills
from shardboard.driver.interfaces import NodeRef


def in_namespace(*command):
    subprocess.run(["ip", *command], check=True)


async def ends(address, token):
    ended = asyncio.Event()
    drill = Drill(id="x", kind="cut_off", seconds=60, end_token="token")
    async with drill_end_port.listen(drill, address, 9700, ended.set):
        drills.send_end_token(NodeRef(1, address, 9700), token)
        try:
            async with asyncio.timeout(0.5):
                await ended.wait()
        except TimeoutError:
            return False
        return True


logging.disable()
on_loopback = Partition("127.0.0.2", [], 9700)
on_loopback.start(60, RECORD)
assert asyncio.run(ends("127.0.0.2", "token")), "an isolated node on a loopback address"
assert not asyncio.run(ends("127.0.0.2", "other")), "another token"
on_loopback.end()

# A separate machine: the console is another namespace, and the kernel checks reverse paths.
peer = subprocess.Popen(["unshare", "--net", "sleep", "60"])
while os.readlink(f"/proc/{peer.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
    time.sleep(0.01)
in_namespace("link", "add", "node", "type", "veth", "peer", "name", "console", "netns", str(peer.pid))
in_namespace("address", "add", "10.9.0.2/24", "dev", "node")
in_namespace("link", "set", "node", "up")
enter = ["nsenter", "--net", "--target", str(peer.pid)]
for command in (["ip", "address", "add", "10.9.0.1/24", "dev", "console"], ["ip", "link", "set", "console", "up"]):
    subprocess.run([*enter, *command], check=True)
for name in ("all", "node"):
    open(f"/proc/sys/net/ipv4/conf/{name}/rp_filter", "w").write("1")
SEND = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'token', ('10.9.0.2', {port}))"


async def arrives(port):
    ended = asyncio.Event()
    drill = Drill(id="x", kind="cut_off", seconds=60, end_token="token")
    async with drill_end_port.listen(drill, "10.9.0.2", port, ended.set):
        process = await asyncio.create_subprocess_exec(*enter, "python3", "-c", SEND.format(port=port))
        await process.wait()
        try:
            async with asyncio.timeout(1):
                await ended.wait()
        except TimeoutError:
            return False
        return True


try:
    assert asyncio.run(arrives(9700)), "not isolated"
    apart = Partition("10.9.0.2", ["10.9.0.1"], 9700)
    assert apart.unsupported_reason() == "", apart.unsupported_reason()
    apart.start(60, RECORD)
    assert asyncio.run(arrives(9700)), "the port that ends the drill"
    assert not asyncio.run(arrives(9701)), "all other ports are isolated"
    apart.end()
    assert asyncio.run(arrives(9701)), "the network is restored"
finally:
    peer.kill()
"""


SLOW = """
import socket
from shardboard.agent.failures.network_faults import PacketLoss

def count_received():
    for number in range(300):
        sender.sendto(b"x", ("127.9.9.1", 7000))
    count = 0
    try:
        while True:
            receiver.recv(1)
            count += 1
    except TimeoutError:
        return count

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_000_000)
receiver.bind(("127.9.9.1", 7000))
receiver.settimeout(0.5)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
assert PacketLoss("127.9.9.1").unsupported_reason() == "", PacketLoss("127.9.9.1").unsupported_reason()
sent = count_received()
for disturbed, others in (("127.9.9.1", False), ("127.9.9.2", True)):
    slow = PacketLoss(disturbed)
    slow.start(60, RECORD)
    some = count_received()
    slow.end()
    assert some == sent if others else 0.7 * sent < some < sent, (disturbed, some, sent)
assert count_received() == sent
"""


AGENT = """
import asyncio, logging, sys, types
from pathlib import Path
from shardboard.agent.failures.drills import Drills
from shardboard.contract import Drill

async def main(seconds):
    drills = Drills(None, None, types.SimpleNamespace(pid=None), "127.9.9.1", 9700, Path(sys.argv[1]))
    if seconds:
        await drills.start(Drill(id="1", kind="cut_off", seconds=seconds, peers=["127.9.9.2"]))
    else:
        await drills.adopt()
        await asyncio.start_server(lambda reader, writer: None, "127.9.9.1", 9700)
    print("ready", flush=True)
    await asyncio.Event().wait()

logging.disable()
asyncio.run(main(float(sys.argv[2])))
"""


KILLED = f"""
import os, shutil, time
from shardboard.local import lifeline

DIRECTORY = RECORD.parent
AGENT = {AGENT!r}


def is_isolated():
    routes = subprocess.run(["ip", "route", "show", "table", "local"], capture_output=True, text=True, check=True)
    return "blackhole 127.9.9.1" in routes.stdout


def await_isolation(expected, seconds):
    start = time.monotonic()
    while is_isolated() is not expected:
        assert time.monotonic() - start < seconds, ("isolated", not expected)
        time.sleep(0.05)


def start_agent(seconds):
    command = [sys.executable, "-c", AGENT, str(DIRECTORY), str(seconds)]
    agent = subprocess.Popen(command, env={{**os.environ, "TMPDIR": str(DIRECTORY)}}, stdout=subprocess.PIPE)
    agent.stdout.read(5)
    await_isolation(True, 30)
    return agent


def kill(agent):
    agent.kill()
    agent.communicate()
    lifeline.kill_all(DIRECTORY)


start = time.monotonic()
kill(start_agent(6))
assert is_isolated()
kill(start_agent(0))
assert is_isolated()
await_isolation(False, 30)
elapsed = time.monotonic() - start
assert 10 < elapsed < 16, elapsed
assert not list((DIRECTORY / "drills").iterdir())

kill(start_agent(3600))
assert is_isolated()
shutil.rmtree(DIRECTORY)
await_isolation(False, 10)
"""


needs_namespace = pytest.mark.skipif(
    subprocess.run([*UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode != 0,
    reason="cannot create a network namespace on this machine",
)


@needs_namespace
@pytest.mark.parametrize("what", [CUT_OFF, SLOW, END_PORT], ids=["cut-off", "slow", "end-port"])
def test_packets_are_lost_only_during_the_drill(what: str, record: Path) -> None:
    if what is SLOW and shutil.which("nft") is None:
        pytest.skip("needs nft")
    run_in_namespace(what, record)


@needs_namespace
@pytest.mark.slow
def test_isolation_ends_without_the_agent(record: Path) -> None:
    """Also if all processes of the cluster are killed: 5 s after the planned end, or when the state of the agent is deleted."""
    run_in_namespace(KILLED, record)


def run_in_namespace(what: str, record: Path) -> None:
    script = (
        "import subprocess, sys\nfrom pathlib import Path\n"
        "subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)\n"
        f"RECORD = Path({str(record)!r})\n{textwrap.dedent(what)}"
    )
    result = subprocess.run([*UNSHARE, sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
