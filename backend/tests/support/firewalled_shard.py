"""Steps of `agent/databases/test_peer_firewall.py`: `python -m … DIRECTORY OWN PEER STRANGER` in a network namespace.

The other two addresses are in a second namespace, which is connected to the first one.
"""

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from backend.tests.support.real_shards import local_nodes, standalone_shard, start_request, wait_until

from shardboard.agent.databases import peer_firewall
from shardboard.agent.databases.peer_firewall import PeerFirewall
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.contract import PeerAccess

CONNECT = """
import socket, sys
own, source, port = sys.argv[1:]
with socket.create_connection((own, int(port)), 0.5, source_address=(source, 0)) as connection:
    connection.sendall(b"PING\\r\\n")
    connection.settimeout(5)
    assert connection.recv(100) == b"+PONG\\r\\n"
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def report(step: str) -> None:
    sys.stdout.write(f"{step}\n")


class Machines:
    """This namespace with an address, and one with the addresses of other machines."""

    def __init__(self, own: str, *others: str) -> None:
        self._own = own
        self._other = subprocess.Popen(["unshare", "--net", "sleep", "60"])
        namespace = Path(f"/proc/{self._other.pid}/ns/net")
        while namespace.readlink() == Path("/proc/self/ns/net").readlink():
            time.sleep(0.01)
        self._inside = ("nsenter", f"--net={namespace}")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(self._other.pid))
        for prefix, interface, addresses in (((), "near", [own]), (self._inside, "far", others)):
            for address in addresses:
                options = ["/64", "nodad"] if ":" in address else ["/24"]
                run(*prefix, "ip", "addr", "add", f"{address}{options[0]}", "dev", interface, *options[1:])
            run(*prefix, "ip", "link", "set", interface, "up")

    def connects(self, source: str, port: int = standalone_shard(1).port) -> bool:
        """Return whether a shard answers a client with this address."""
        command = [*self._inside, sys.executable, "-c", CONNECT, self._own, source, str(port)]
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def close(self) -> None:
        self._other.kill()
        self._other.wait()


async def check(machines: Machines, directory: Path, own: str, peer: str, stranger: str) -> None:
    connects = machines.connects
    async with local_nodes(directory) as nodes:
        nodes.supervisors[1] = ShardSupervisor(replace(nodes.settings[1], address=own))
        [outcome] = await nodes[1].start(start_request(standalone_shard(1)))
        assert outcome.ok, outcome.reason
        await wait_until(lambda: connects(stranger))
        report("open")
        firewall = PeerFirewall(nodes[1], own)
        state = await firewall.set_peers(PeerAccess(enabled=True, addresses=[peer]), [])
        report(f"{state.state} {state.detail}".strip())
        if state.state == "unavailable":
            return
        assert not connects(stranger)
        report("filtered")
        await wait_until(lambda: connects(peer))
        report("peer")
        socket.create_connection((own, standalone_shard(1).port), 5).close()
        report("local")
        [outcome] = await nodes[1].start(start_request(standalone_shard(2)))
        assert connects(stranger, standalone_shard(2).port), "the rules only apply to known ports"
        report("other-port")
        peer_firewall.EXPIRY_SECONDS = 1
        await firewall.set_peers(PeerAccess(enabled=True, addresses=[peer, "10.9.9.9", "fd00::9"]), [])
        await wait_until(lambda: connects(stranger))  # as after the agent was killed
        report("expired")
        await firewall.close()
        report("off")


def main(directory: str, *addresses: str) -> None:
    machines = Machines(*addresses)
    try:
        own, peer, stranger = addresses
        asyncio.run(check(machines, Path(directory), own, peer, stranger))
        if shutil.which("nft"):
            left = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout
            assert left == "", left
    finally:
        machines.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
