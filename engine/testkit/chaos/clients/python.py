"""A client of the chaos run: `python.py LIBRARY plain|cluster HOST PORT NAME WORKERS`, where LIBRARY is valkey or redis.

../README.md describes its requests and output. Plain workers also use transactions and commands whose keys belong to
several shards.
"""

import importlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

KEYS = 8
PACE = 0.002
library = importlib.import_module(sys.argv[1])
kind, host, port, name = sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
stop = threading.Event()
printing = threading.Lock()


def connect() -> Any:
    """Return a client without automatic retries, or the library's cluster client with its defaults."""
    if kind == "cluster":
        cluster = getattr(library, "ValkeyCluster" if library.__name__ == "valkey" else "RedisCluster")
        return cluster(host=host, port=port, socket_timeout=10)
    client = getattr(library, "Valkey" if library.__name__ == "valkey" else "Redis")
    retry = importlib.import_module(f"{library.__name__}.retry").Retry(
        importlib.import_module(f"{library.__name__}.backoff").NoBackoff(), 0
    )
    return client(host=host, port=port, socket_timeout=10, retry=retry, single_connection_client=True)


def write_line(*words: Any) -> None:
    """Print one complete line."""
    with printing:
        sys.stdout.write("\t".join(str(word) for word in words) + "\n")


def record_call(words: tuple[Any, ...], call: Callable[[], Any], show: Callable[[Any], tuple[Any, ...]]) -> bool:
    """Run `call` and print the result. An error is a result as well."""
    start = time.time()
    try:
        shown_values, outcome = show(call()), "ok"
    except Exception as error:
        shown_values, outcome = ("-",) * len(show(None)), f"{type(error).__name__} {error}".replace("\n", " ")[:160]
    write_line(*words, *shown_values, f"{start:.6f}", f"{time.time():.6f}", outcome)
    return outcome == "ok"


def text(value: bytes | None) -> str:
    """Format a value for the output."""
    return "none" if value is None else value.decode()


class Worker:
    """One connection with one request at a time."""

    def __init__(self, number: int) -> None:
        self.name = f"{name}:{number}"
        self.client = connect()
        self.number = 0

    def run(self) -> None:
        """Run until the end of the input."""
        while not stop.is_set():
            self.number += 1
            key = f"{self.name}:{self.number % KEYS}"
            record_call(("w", key, self.number), lambda: self.client.rpush(key, self.number), lambda _: ())
            record_call(("r", key), lambda: self.client.lindex(key, -1), lambda value: (text(value),))
            if kind == "plain" and self.number % 5 == 0:
                self.several()
                self.transaction()
                record_call(("s", self.name), lambda: self.client.wait(1, 200), lambda count: (count,))
            time.sleep(PACE)

    def several(self) -> None:
        """Send commands with keys on several shards."""
        keys = [f"{self.name}:m{index}" for index in range(4)]
        record_call(("m", self.name, self.number), lambda: self.client.mset(dict.fromkeys(keys, self.number)), lambda _: ())
        record_call(("g", self.name), lambda: self.client.mget(keys), lambda values: (",".join(map(text, values or [])),))

    def transaction(self) -> None:
        """Update a list and a counter that must always be equal."""
        key = f"{{{self.name}:t}}"

        def both() -> Any:
            with self.client.pipeline(transaction=True) as transaction:
                if self.number % 2:
                    transaction.watch(key)
                    transaction.llen(key)
                    transaction.multi()
                transaction.rpush(key, self.number)
                transaction.incr(f"{key}:count")
                return transaction.execute()

        record_call(("t", key, self.number), both, lambda both: tuple(both or (0, 0)))


threads = [threading.Thread(target=Worker(number).run) for number in range(int(sys.argv[6]))]
for thread in threads:
    thread.start()
write_line("ready")
sys.stdout.flush()
sys.stdin.read()
stop.set()
for thread in threads:
    thread.join()
