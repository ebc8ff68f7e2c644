"""Fixed cases that the random commands do not cover."""

from collections.abc import Callable
from typing import Any

from lab import wait_for
from tiered import info, is_cold
from wire import Connection

WAITED = 1200
"""Number of keys. The values are larger in total than the write buffer, so that most of them are in a file."""


def cases(primary: tuple[str, int], replica: tuple[str, int], resync: Callable[[], None]) -> list[str]:
    """Run all cases on a primary with the tier and its replica. Return the failures."""
    wrong = paused(primary) + refused_multi(primary) + sorted_on_replica(primary, replica)
    return wrong + cold_at_exec(primary, replica, resync) + waited_reads(primary)


def paused(primary: tuple[str, int]) -> list[str]:
    """Check that commands that need a cold value are rejected while clients are paused.

    A promotion must be recorded in the append-only file, and this is not possible during a pause."""
    wire = Connection(primary)
    wire.execute("SET", "{t}paused", "p" * 500)
    wait_for(lambda: is_cold(wire, "{t}paused"), "the key to be cold")
    wire.execute("CLIENT", "PAUSE", 600_000, "WRITE")
    # GET can read a value from a file without promoting it, so GETRANGE is used.
    replies = [wire.execute("GETRANGE", "{t}paused", 0, -1), wire.execute("APPEND", "{t}paused", "x")]
    replies += wire.batch([("MULTI",), ("PING",), ("GET", "{t}paused"), ("EXEC",)])
    wire.execute("CLIENT", "UNPAUSE")
    replies += [wire.execute("GET", "{t}paused"), wire.execute("DEL", "{t}paused")]
    wire.close()
    found = [str(reply).split(" ")[0] if isinstance(reply, str) else reply for reply in replies]
    expected = ["TRYAGAIN", "TRYAGAIN", b"OK", b"QUEUED", "ERR", "EXECABORT", b"p" * 500, 1]
    return [] if found == expected else [f"paused: {found}"]


def refused_multi(primary: tuple[str, int]) -> list[str]:
    """Check that after a rejected MULTI, a promoted key stays in RAM only for its own command."""
    wire, other = Connection(primary), Connection(primary)
    replies = wire.batch([("SET", "{t}multi", "m" * 500), ("MULTI", "too many"), ("STRLEN", "{t}multi"), ("PING",)])
    wait_for(lambda: is_cold(other, "{t}multi"), "the key to be cold again")
    wire.execute("DEL", "{t}multi")
    wire.close()
    other.close()
    return [] if replies[2:] == [500, b"PONG"] else [f"refused MULTI: {replies}"]


def connect_replica(replica: tuple[str, int]) -> Connection:
    """Open a connection that may read on a replica."""
    wire = Connection(replica)
    wire.execute("READONLY")
    return wire


def sorted_on_replica(primary: tuple[str, int], replica: tuple[str, int]) -> list[str]:
    """Check that SORT reads cold keys that are named only by the elements of its key.

    This applies to the server that executes it, to its replica and to a transaction."""
    wire, reader = Connection(primary), connect_replica(replica)
    values = {f"{{t}}sorted:{number}": str(9 - number) * 500 for number in (1, 2)}
    kinds = {"{t}sort:l": ("RPUSH", 1, 2), "{t}sort:s": ("SADD", 1, 2), "{t}sort:z": ("ZADD", 0, 1, 0, 2)}
    for name, (add, *elements) in kinds.items():
        wire.execute(add, name, *elements)
    wrong = []
    for name in kinds:
        wire.batch([("SET", *pair) for pair in values.items()])
        for one in (wire, reader):
            wait_for(lambda one=one: all(is_cold(one, key) for key in values), "the keys to be cold")
        sort = ("SORT", name, "BY", "{t}sorted:*", "ALPHA", "GET", "{t}sorted:*", "STORE", "{t}sort:to")
        replies = wire.batch([("MULTI",), sort, ("EXEC",)])
        wire.execute("WAIT", 1, 0)
        expected = [value.encode() for value in sorted(values.values())]
        found = [one.execute("LRANGE", "{t}sort:to", 0, -1) for one in (wire, reader)]
        if replies[-1] != [2] or found != [expected, expected]:
            wrong.append(f"{' '.join(map(str, sort))}: {str(replies)[:200]}, {str(found)[:300]}")
    wire.execute("DEL", *values, *kinds, "{t}sort:to")
    wire.close()
    reader.close()
    return wrong


def cold_at_exec(primary: tuple[str, int], replica: tuple[str, int], resync: Callable[[], None]) -> list[str]:
    """Check that EXEC is rejected, and the transaction ended, if a value cannot be promoted.

    The value becomes cold through a resynchronization after MULTI, and a pause prevents the promotion."""
    wire, reader = Connection(primary), connect_replica(replica)
    wire.execute("SET", "{t}exec", "e" * 500)
    wait_for(lambda: is_cold(wire, "{t}exec"), "the key to be cold")
    wire.execute("WAIT", 1, 0)
    replies = reader.batch([("MULTI",), ("GET", "{t}exec")])
    resync()
    other = connect_replica(replica)
    wait_for(lambda: is_cold(other, "{t}exec"), "the resync")
    other.execute("CLIENT", "PAUSE", 600_000, "WRITE")
    replies += [reader.execute("EXEC"), reader.execute("PING")]
    other.execute("CLIENT", "UNPAUSE")
    wire.execute("DEL", "{t}exec")
    for one in (wire, reader, other):
        one.close()
    found = [str(reply).split(" ")[0] if isinstance(reply, str) else reply for reply in replies]
    return [] if found == [b"OK", b"QUEUED", "EXECABORT", b"PONG"] else [f"cold at EXEC: {replies}"]


def waited_reads(primary: tuple[str, int]) -> list[str]:
    """Check that only the client that sent GET waits for a value from a file.

    At the same time, other clients change and delete the keys. `not_waited` checks access rights and the cases in which a
    client cannot wait."""
    wire, other = Connection(primary), Connection(primary)
    names = [f"{{t}}wait:{number}" for number in range(WAITED)]
    old = {name: name.encode() * 60 for name in names}
    wire.batch([("SET", name, old[name]) for name in names])
    for name in names:
        wait_for(lambda name=name: is_cold(wire, name), "the key to be cold")  # type: ignore[misc]
    wrong = []
    before = calls(wire, "tier.get")
    readers = [Connection(primary) for _ in range(4)]
    for reader in readers:
        for name in names:
            reader.send("GET", name)
    other.batch([("SET", name, b"new") for name in names[::2]])
    other.batch([("DEL", name) for name in names[1::4]])
    readers.pop().close()  # a client that disconnects before it has read a reply
    for reader in readers:
        replies = [reader.reply() for _ in names]
        wrong += [
            f"waited: {name} is {str(reply)[:50]}"
            for name, reply in zip(names, replies, strict=True)
            if reply not in (old[name], b"new", None)
        ]
    for number, (name, reply) in enumerate(zip(names, readers[0].batch([("GET", name) for name in names]), strict=True)):
        expected = b"new" if number % 2 == 0 else None if number % 4 == 1 else old[name]
        wrong += [] if reply == expected else [f"afterwards: {name} is {str(reply)[:50]}"]
    wrong += [] if calls(wire, "tier.get") > before else ["no client waited"]
    wrong += not_waited(wire, names[3], old[names[3]])
    wire.execute("DEL", *names)
    for one in (wire, other, *readers):
        one.close()
    return wrong


def not_waited(wire: Connection, name: str, value: bytes) -> list[str]:
    """Check GET in transactions and scripts, by users with different rights, and with client tracking."""
    told: dict[str, tuple[Any, Any]] = {}
    told["transaction"] = (wire.batch([("MULTI",), ("GET", name), ("TIER.GET", name), ("EXEC",)])[-1], [value, value])
    told["script"] = (wire.execute("EVAL", "return redis.call('GET', KEYS[1])", 1, name), value)
    for user, rights, expected in (("a", "+get", value), ("b", "+@all -get", "NOPERM"), ("c", "+@all", value)):
        keys = "%R~*" if user == "a" else "~*"
        wire.execute("ACL", "SETUSER", user, "on", "nopass", keys, "resetchannels", *rights.split())
        wait_for(lambda: is_cold(wire, name), "the key to be cold")
        other = Connection(address_of(wire))
        other.execute("AUTH", user, "x")
        reply = other.execute("GET", name)
        other.close()
        told[f"user {user}"] = (str(reply).split(" ")[0] if isinstance(reply, str) else reply, expected)
        wire.execute("ACL", "DELUSER", user)
    reader, listener = Connection(address_of(wire)), Connection(address_of(wire))
    number = listener.execute("CLIENT", "ID")
    listener.execute("SUBSCRIBE", "__redis__:invalidate")
    reader.execute("CLIENT", "TRACKING", "ON", "REDIRECT", number)
    wait_for(lambda: is_cold(wire, name), "the key to be cold")
    told["tracked"] = (reader.execute("GET", name), value)
    wire.execute("DEL", name)
    told["invalidation message"] = (listener.reply(), [b"message", b"__redis__:invalidate", [name.encode()]])
    reader.close()
    listener.close()
    return [f"{what}: {str(found)[:80]}" for what, (found, expected) in told.items() if found != expected]


def address_of(wire: Connection) -> tuple[str, int]:
    """Return the address that the connection leads to."""
    address, port = wire.socket.getpeername()
    return address, port


def calls(wire: Connection, command: str) -> int:
    """Return how often the server has executed the command."""
    told = info(wire, "commandstats").get(f"cmdstat_{command}", "calls=0,")
    return int(told.partition("calls=")[2].partition(",")[0])
