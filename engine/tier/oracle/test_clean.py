"""A value that was only read is not written to flash again. A changed value is."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lab import Lab, wait_for
from tiered import info, options
from wire import Connection

from shardboard.local.loopback import claim_network

KEYS = 200
PORT = 21812


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Connection]:
    lab = Lab(f"{claim_network()}.2")
    try:
        lab.server(PORT, *options(tmp_path, ram_limit=1))  # keeps no value in RAM
        yield Connection((lab.address, PORT))
    finally:
        lab.close()


def told(wire: Connection) -> dict[str, int]:
    return {name.removeprefix("tier_"): int(value) for name, value in info(wire).items() if value.isdigit()}


def all_on_flash(wire: Connection) -> dict[str, int]:
    wait_for(lambda: told(wire)["values_flash"] == KEYS, "all values on flash")
    return told(wire)


def test_values_only_read_are_not_written_again(wire: Connection) -> None:
    values = {f"key:{number}": [f"{number}-{index}" * 20 for index in range(10)] for number in range(KEYS)}
    wire.batch([("RPUSH", key, *value) for key, value in values.items()])
    before = all_on_flash(wire)
    assert before["demotions_clean"] == 0

    replies = wire.batch([("LRANGE", key, "0", "-1") for key in values])
    assert replies == [[element.encode() for element in value] for value in values.values()]
    after = all_on_flash(wire)
    assert after["promotions"] == KEYS
    assert after["demotions_clean"] > KEYS * 0.8  # some remembered records share a table entry
    assert after["flash_writes"] - before["flash_writes"] == KEYS - after["demotions_clean"]

    wire.batch([("LSET", key, "3", "changed") for key in values])
    last = all_on_flash(wire)
    assert last["demotions_clean"] == after["demotions_clean"]
    assert last["flash_writes"] - after["flash_writes"] == KEYS
    for key, value in values.items():
        wanted = [*value[:3], "changed", *value[4:]]
        assert wire.execute("LRANGE", key, "0", "-1") == [element.encode() for element in wanted]
