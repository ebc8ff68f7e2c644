"""Tests with failing disks, full disks and a kernel without io_uring.

A value that cannot be read must give an error and never another value. All other values must stay available. After the disk
is repaired, no value may be missing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lab import Lab, wait_for
from tiered import ALL_ON_FLASH, all_on_flash, info, is_cold, options
from wire import Failure, Connection

from shardboard.local.loopback import claim_network

PORT, REPLICA = 21813, 21814
KEYS = 400
MIB = 2**20


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    source = Path(__file__).with_name("failing.c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab(f"{claim_network()}.2")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def with_disk(lab: Lab, failing: Path) -> Callable[..., tuple[Connection, Callable[[], None]]]:
    """Return a function that starts a server and returns a connection and a function that breaks or repairs its disk."""

    def start(port: int = PORT, *more: str) -> tuple[Connection, Callable[[], None]]:
        disk = lab.directory / f"flash-{port}"
        through = ["env", f"LD_PRELOAD={failing}", f"FAILING_DISK={disk}"]
        process = lab.server(port, *all_on_flash(lab, port), *more, through=through)
        return Connection((lab.address, port)), lambda: os.kill(process.pid, signal.SIGRTMIN)

    return start


def fill(wire: Connection) -> dict[str, bytes]:
    """Write values and wait until all of them are on flash. Return the values."""
    values = {f"key:{number}": str(number).encode() * 300 for number in range(KEYS)}
    wire.batch([("SET", *pair) for pair in values.items()])
    wait_for(lambda: info(wire)["tier_values_flash"] == str(KEYS), "all values on flash")
    return values


def read(wire: Connection, values: dict[str, bytes]) -> tuple[int, list[str]]:
    """Read all values. Return the number of unreadable values and a list of wrong replies."""
    replies = wire.batch([("GET", name) for name in values])
    wrong = []
    for (name, value), reply in zip(values.items(), replies, strict=True):
        if reply != value and not (isinstance(reply, Failure) and reply.startswith("IOERR")):
            wrong.append(f"{name}: {str(reply)[:80]}")
    return sum(isinstance(reply, Failure) for reply in replies), wrong


def test_failed_disk_is_used_again_after_repair(with_disk: Callable[..., tuple[Connection, Callable[[], None]]]) -> None:
    wire, break_or_mend = with_disk()
    values = fill(wire)
    old = next(iter(values))
    assert wire.execute("SAVE") == b"OK"
    home = Path(wire.execute("CONFIG", "GET", "dir")[1].decode())
    saved = (home / "dump.rdb").read_bytes()

    break_or_mend()
    unreadable, wrong = read(wire, values)
    assert wrong == []
    assert unreadable > KEYS / 2  # the newest values may still be in the write buffer
    assert str(wire.execute("GETRANGE", old, 0, 10)).startswith("IOERR")
    assert str(wire.execute("APPEND", old, "x")).startswith("IOERR")
    assert str(wire.execute("EVAL", "return redis.call('GET', KEYS[1])", 1, old)).startswith("IOERR")
    transaction = wire.batch([("MULTI",), ("APPEND", old, "x"), ("EXEC",)])
    assert str(transaction[-1][0]).startswith("IOERR")

    # Values no longer leave RAM, and all values in RAM stay available.
    fresh = {f"fresh:{number}": str(number).encode() * 3000 for number in range(400)}
    assert wire.batch([("SET", *pair) for pair in fresh.items()]) == [b"OK"] * len(fresh)
    wait_for(lambda: info(wire)["tier_flash_state"] == "failing", "the failure to be noticed")
    assert read(wire, fresh) == (0, [])
    assert int(info(wire)["tier_read_errors"]) >= unreadable

    # An incomplete snapshot must not replace the last complete one.
    assert isinstance(wire.execute("SAVE"), Failure)
    wire.execute("BGSAVE")
    wait_for(lambda: info(wire, "persistence")["rdb_bgsave_in_progress"] == "0", "the snapshot to end")
    assert info(wire, "persistence")["rdb_last_bgsave_status"] == "err"
    assert (home / "dump.rdb").read_bytes() == saved

    break_or_mend()
    wait_for(lambda: info(wire)["tier_flash_state"] == "ok", "the disk to be used again")
    assert read(wire, {**values, **fresh}) == (0, [])
    assert wire.execute("SAVE") == b"OK"
    assert wire.execute("DEBUG", "RELOAD") == b"OK"
    assert read(wire, {**values, **fresh}) == (0, [])


def test_values_lost_on_one_disk_are_on_the_replica(
    lab: Lab, with_disk: Callable[..., tuple[Connection, Callable[[], None]]]
) -> None:
    wire, break_disk = with_disk()
    lab.server(REPLICA, *all_on_flash(lab, REPLICA), "--replicaof", f"{lab.address} {PORT}")
    replica = Connection((lab.address, REPLICA))
    values = fill(wire)
    assert wire.execute("WAIT", 1, 0) == 1
    break_disk()
    assert read(wire, values)[0] > KEYS / 2
    # Successful writes reach the replica, failed writes do not.
    assert wire.execute("SET", "key:0", "new") == b"OK"
    assert isinstance(wire.execute("APPEND", "key:1", "x"), Failure)
    assert wire.execute("WAIT", 1, 0) == 1
    assert replica.execute("REPLICAOF", "NO", "ONE") == b"OK"
    assert read(replica, {**values, "key:0": b"new"}) == (0, [])


def test_full_disk_is_used_again_after_space_is_freed(lab: Lab, tmp_path: Path) -> None:
    """Use a file system that is smaller than the data."""
    mount = f"mount --types tmpfs --options size=4m flash {tmp_path} && exec \"$@\""
    through = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    lab.server(PORT, *options(tmp_path, **ALL_ON_FLASH), through=through)
    wire = Connection((lab.address, PORT))
    value = Random(1).randbytes(4000)
    values = {f"key:{number}": b"%d:%b" % (number, value) for number in range(2_000)}
    assert wire.batch([("SET", *pair) for pair in values.items()]) == [b"OK"] * len(values)
    wait_for(lambda: info(wire)["tier_flash_state"] == "full", "the disk to be full")
    assert int(info(wire)["tier_values_ram"]) > 500
    assert read(wire, values) == (0, [])
    assert wire.execute("DEBUG", "RELOAD") == b"OK"
    assert read(wire, values) == (0, [])

    gone = [f"key:{number}" for number in range(2_000) if number % 3]
    assert wire.execute("DEL", *gone) == len(gone)
    left = {name: value for name, value in values.items() if name not in set(gone)}
    wait_for(lambda: info(wire)["tier_values_flash"] == str(len(left)), "the rest to be on flash")
    assert info(wire)["tier_flash_state"] == "ok"
    assert read(wire, left) == (0, [])


def test_values_are_readable_without_io_uring(lab: Lab, failing: Path) -> None:
    process = lab.server(
        PORT, *all_on_flash(lab, PORT), through=["env", f"LD_PRELOAD={failing}", "REFUSE_IO_URING=1"]
    )
    wire = Connection((lab.address, PORT))
    values = fill(wire)
    assert read(wire, values) == (0, [])
    assert "cmdstat_tier.get" not in info(wire, "commandstats")
    assert not any("io_uring" in os.readlink(each) for each in Path(f"/proc/{process.pid}/fd").iterdir())
    told = (lab.directory / str(PORT) / "log").read_text()
    assert "io_uring is not available (Operation not permitted" in told


def test_damaged_files_give_errors_and_never_other_values(lab: Lab) -> None:
    lab.server(PORT, *all_on_flash(lab, PORT))
    wire = Connection((lab.address, PORT))
    values = fill(wire)
    flash = lab.directory / f"flash-{PORT}"
    random = Random(2)
    written = [segment for segment in sorted(flash.glob("*.segment")) if segment.stat().st_size]
    for number, segment in enumerate(written):
        content = bytearray(segment.read_bytes())
        if number % 3 == 1:
            os.truncate(segment, len(content) // 2)
        elif number % 3 == 2:
            for _ in range(20):
                content[random.randrange(len(content))] ^= 1 << random.randrange(8)
            segment.write_bytes(content)
    unreadable, wrong = read(wire, values)
    assert wrong == []
    assert unreadable > 0
    assert int(info(wire)["tier_checksum_errors"]) > 0
    # The affected keys can be overwritten and deleted.
    assert wire.batch([("SET", name, "anew") for name in values]) == [b"OK"] * KEYS
    assert wire.execute("DEL", *values) == KEYS
    assert not is_cold(wire, "key:0")
