"""A slot moves to another shard while a client waits for one of its values from flash."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases import calls
from lab import Lab, wait_for
from tiered import TieredLab, is_cold
from wire import Failure, Connection

from shardboard.local.loopback import claim_network

PORTS = [21811, 21812]
OTHERS = 1_200
"""Number of keys. The values are larger in total than the write buffer, so that most of them are in a file."""
TRIES = 20


@pytest.fixture
def lab() -> Iterator[tuple[Lab, list[dict[str, object]]]]:
    made = TieredLab(f"{claim_network()}.2")
    try:
        yield made, made.cluster(PORTS)
    finally:
        made.close()


def test_waiting_client_gets_value_and_later_client_is_redirected(lab: tuple[Lab, list[dict[str, object]]]) -> None:
    """The value at the time of the request is a correct reply. A reply that the key does not exist would be wrong."""
    servers, (_, target) = lab
    wire, mover, idler = (Connection((servers.address, PORTS[0])) for _ in range(3))
    names = [
        name for name in (f"moved:{number}" for number in range(1_000)) if wire.execute("CLUSTER", "KEYSLOT", name) < 8_192
    ][:TRIES]
    others = [
        name
        for name in (f"o:{number}" for number in range(2 * OTHERS + 200))
        if wire.execute("CLUSTER", "KEYSLOT", name) < 8_192
    ]
    wire.batch([("SET", name, name.encode() * 60) for name in [*names, *others]])
    for name in (*names, *others[-1:]):
        wait_for(lambda name=name: is_cold(wire, name), "the key to be cold")  # type: ignore[misc]
    waited = []
    for name in names:
        slot, before = mover.execute("CLUSTER", "KEYSLOT", name), calls(wire, "tier.get")
        # Both commands arrive during the sleep, so the server processes both before any read completes.
        idler.send("DEBUG", "SLEEP", "0.2")
        wire.send("GET", name)
        gone = mover.batch([("DEL", name), ("CLUSTER", "SETSLOT", slot, "NODE", target["id"])])
        assert gone == [1, b"OK"]
        reply = wire.reply()
        assert idler.reply() == b"OK"
        assert str(wire.execute("GET", name)).startswith("MOVED")
        if isinstance(reply, Failure):
            assert reply.startswith("MOVED")  # the server processed the move first
            continue
        assert reply == name.encode() * 60
        waited.append(calls(wire, "tier.get") > before)
        if waited[-1]:
            break
    assert any(waited), f"no client waited: {waited}"
    for one in (wire, mover, idler):
        one.close()
