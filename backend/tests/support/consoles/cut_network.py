"""Steps of `store/test_network_cut.py`: `python -m … SECONDS` in a network namespace.

A store is connected to a PostgreSQL server, and then all packets between them are dropped. Prints the seconds until each part of
the console has noticed this.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.kit.bus import Bus
from shardboard.local.postgres import PrivateServer, server_account
from shardboard.store.change_receiver import ChangeReceiver
from shardboard.store.db import Store
from shardboard.store.transient_errors import is_transient

DROP = """
table inet cut {
    chain input {
        type filter hook input priority 0; policy accept;
        tcp sport %(port)s drop
        tcp dport %(port)s drop
    }
}
"""


async def newest_event(_: AsyncSession) -> int:
    return 0


async def time_to_fail(action: Awaitable[object]) -> float:
    """Return the seconds until an action fails with a transient error."""
    started = time.monotonic()
    with suppress_transient_errors():
        await action
        raise RuntimeError("the action succeeded")
    return time.monotonic() - started


@contextmanager
def suppress_transient_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not is_transient(error):
            raise


async def run_nft(script: str) -> None:
    await asyncio.to_thread(subprocess.run, ["nft", "-f", "-"], input=script, text=True, check=True)


async def check(url: str, port: int) -> dict[str, float]:
    store, received = Store(url, Bus()), Store(url, Bus())
    assert store.connector is not None
    with received.bus.listen("change") as changes:
        receiver = asyncio.create_task(ChangeReceiver(received, newest_event).run())
        await changes.get()
    async with store.engine.connect() as idle, store.engine.connect() as busy:
        for connection in (idle, busy):
            await connection.execute(text("SELECT 1"))
        waiting = asyncio.create_task(time_to_fail(busy.execute(text("SELECT pg_sleep(100)"))))
        await asyncio.sleep(0.2)
        await run_nft(DROP % {"port": port})
        seconds = await asyncio.gather(
            time_to_fail(idle.execute(text("SELECT 2"))),
            waiting,
            time_to_fail(receiver),
            time_to_fail(store.connector.connect()),
        )
        await idle.invalidate()
        await busy.invalidate()
    await run_nft("flush ruleset")
    for each in (store, received):
        async with each.begin() as session:
            await session.execute(text("SELECT 3"))
        await each.close()
    return dict(zip(("statement", "waiting statement", "receiver", "new connection"), seconds, strict=True))


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    directory = Path(tempfile.mkdtemp(prefix="shardboard-postgres-", dir="/tmp"))
    server = PrivateServer(directory, server_account())
    try:
        server.start()
        sys.stdout.write(json.dumps(asyncio.run(check(server.url, server.port))))
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
