"""A server is killed at random moments during writes. Each acknowledged write must be in its append-only file."""

import os
import sys
import threading
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lab import wait_for
from tiered import APPEND_ONLY, TieredLab, info
from wire import Connection

from shardboard.local.loopback import claim_network

PORT = 21815
KEYS = 300
KILLS = int(os.environ.get("SHARDBOARD_KILLS", "6"))
AT_ONCE = 20


def write_until_killed(wire: Connection, random: Random, held: dict[str, bytes]) -> dict[str, list[bytes]]:
    """Write until the server is killed. Record acknowledged values in `held`.

    Return the unacknowledged values of each key, in the order in which they were sent. Any of them may be stored."""
    open_: dict[str, list[bytes]] = {}
    while True:
        batch = [(f"key:{random.randrange(KEYS)}", random.randbytes(random.randrange(10, 2000))) for _ in range(AT_ONCE)]
        open_ = {}
        for name, value in batch:
            open_.setdefault(name, []).append(value)
        try:
            for name, value in batch:
                wire.send("SET", name, value)
            for name, value in batch:
                if wire.reply() != b"OK":
                    raise ConnectionError(name)
                held[name] = value
                open_[name].remove(value)
        except OSError:
            return open_


def test_server_killed_at_random_moments_keeps_acknowledged_writes() -> None:
    random = Random(int(os.environ.get("SHARDBOARD_SEED", "1")))
    lab = TieredLab(f"{claim_network()}.2", *APPEND_ONLY, "--auto-aof-rewrite-min-size", "1mb")
    held: dict[str, bytes] = {}
    try:
        lab.server(PORT)
        for _ in range(KILLS):
            wire = Connection((lab.address, PORT))
            # The delay ensures that some values have been written.
            killer = threading.Timer(random.uniform(0.05, 0.4), lambda: lab.kill(PORT))
            killer.start()
            open_ = write_until_killed(wire, random, held)
            killer.join()
            lab.server(PORT)
            wire = Connection((lab.address, PORT))
            wait_for(lambda wire=wire: info(wire, "persistence")["loading"] == "0", "the file to be loaded")  # type: ignore[misc]
            for name in {*held, *open_}:
                found = wire.execute("GET", name)
                assert found in [held.get(name), *open_.get(name, [])], f"{name}: {str(found)[:50]}"
                if found is not None:
                    held[name] = found
            assert int(info(wire)["tier_values_flash"]) > KEYS / 4
            wire.close()
    finally:
        lab.close()
