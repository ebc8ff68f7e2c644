"""A slot goes to another shard while a client waits for a value of it from flash."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases import calls
from lab import Lab, wait_for
from tiered import TieredLab, is_cold
from wire import Failure, Wire

from shardboard.loopback import claim_network

PORTS = [21811, 21812]
OTHERS = 1_200
"""Keys; more than what is not yet in a file."""
TRIES = 20


@pytest.fixture
def lab() -> Iterator[tuple[Lab, list[dict[str, object]]]]:
    made = TieredLab(f"{claim_network()}.2")
    try:
        yield made, made.cluster(PORTS)
    finally:
        made.close()


def test_who_waited_gets_the_value_and_who_comes_later_is_sent_on(lab: tuple[Lab, list[dict[str, object]]]) -> None:
    """What the key was when it was asked for is a good answer; that there is none would be a wrong one."""
    servers, (_, target) = lab
    wire, mover, idler = (Wire((servers.address, PORTS[0])) for _ in range(3))
    names = [
        name for name in (f"moved:{number}" for number in range(1_000)) if wire.say("CLUSTER", "KEYSLOT", name) < 8_192
    ][:TRIES]
    others = [
        name
        for name in (f"o:{number}" for number in range(2 * OTHERS + 200))
        if wire.say("CLUSTER", "KEYSLOT", name) < 8_192
    ]
    wire.batch([("SET", name, name.encode() * 60) for name in [*names, *others]])
    for name in (*names, *others[-1:]):
        wait_for(lambda name=name: is_cold(wire, name), "the key to be cold")  # type: ignore[misc]
    waited = []
    for name in names:
        slot, before = mover.say("CLUSTER", "KEYSLOT", name), calls(wire, "tier.get")
        # While it sleeps both connections have something to say, so both are heard before any read ends.
        idler.send("DEBUG", "SLEEP", "0.2")
        wire.send("GET", name)
        gone = mover.batch([("DEL", name), ("CLUSTER", "SETSLOT", slot, "NODE", target["id"])])
        assert gone == [1, b"OK"]
        reply = wire.reply()
        assert idler.reply() == b"OK"
        assert str(wire.say("GET", name)).startswith("MOVED")
        if isinstance(reply, Failure):
            assert reply.startswith("MOVED")  # the mover was heard first
            continue
        assert reply == name.encode() * 60
        waited.append(calls(wire, "tier.get") > before)
        if waited[-1]:
            break
    assert any(waited), f"nobody has waited: {waited}"
    for one in (wire, mover, idler):
        one.close()
