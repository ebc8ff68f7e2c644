"""The RAM limit holds while clients write more data than fits at full speed, and no write is rejected."""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lab import Lab
from tiered import info, options
from wire import Failure, Connection

from shardboard.local.loopback import claim_network

MIB = 2**20
LIMIT, MOST = 30 * MIB, 32 * MIB
KEYS, SIZE = 60_000, 1_500
AT_ONCE = 1_000
PORT = 21810


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Connection]:
    lab = Lab(f"{claim_network()}.2")
    try:
        tier = options(tmp_path, ram_limit=LIMIT, flash_limit=256 * MIB, segment_size=4 * MIB)
        lab.server(PORT, "--maxmemory", str(MOST), *tier)
        yield Connection((lab.address, PORT))
    finally:
        lab.close()


def test_writes_beyond_ram_limit_all_succeed(wire: Connection) -> None:
    value = Random(1).randbytes(SIZE)
    refused = []
    for first in range(0, KEYS, AT_ONCE):
        replies = wire.batch([("SET", f"key:{number}", value) for number in range(first, first + AT_ONCE)])
        refused += [reply for reply in replies if isinstance(reply, Failure)]
    assert refused == []
    told = info(wire, "everything")
    # A growing hash table allocates 1 MiB at once.
    assert int(told["used_memory_peak"]) < LIMIT + 1.5 * MIB
    assert int(told["tier_values_flash"]) > KEYS / 2
    wanted = Random(2).choices(range(KEYS), k=2_000)
    assert wire.batch([("GET", f"key:{number}") for number in wanted]) == [value] * len(wanted)
