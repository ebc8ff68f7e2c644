"""The whole content of a server in comparable form."""

from typing import Any

from commands import comparable
from wire import Connection

READS: dict[bytes, tuple[Any, ...]] = {
    b"string": ("GET",),
    b"list": ("LRANGE", 0, -1),
    b"hash": ("HGETALL",),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    b"stream": ("XRANGE", "-", "+"),
}


def state(address: tuple[str, int], databases: int, readonly: bool = False) -> dict[Any, Any]:
    """Return every key of every database with its type, value and expiry time."""
    wire = Connection(address)
    if readonly:
        wire.execute("READONLY")
    found: dict[Any, Any] = {}
    for number in range(databases):
        if databases > 1:
            wire.execute("SELECT", number)
        names = scan(wire)
        for kind in READS:
            typed = scan(wire, "TYPE", kind)
            for name in typed:
                found[number, name, "scanned"] = kind
        for name in names:
            kind = wire.execute("TYPE", name)
            asked = (READS[kind][0], name, *READS[kind][1:])
            found[number, name] = (kind, comparable(asked, wire.execute(*asked)), wire.execute("PEXPIRETIME", name))
    wire.close()
    return found


def scan(wire: Connection, *options: Any) -> list[bytes]:
    """Return all key names that SCAN finds."""
    names, cursor = [], b"0"
    while True:
        cursor, some = wire.execute("SCAN", cursor, "COUNT", 100, *options)
        names += some
        if cursor == b"0":
            return sorted(names)


def differences(expected: dict[Any, Any], found: dict[Any, Any]) -> list[str]:
    """Return a description of each difference."""
    return [
        f"{key}: expected {str(expected.get(key))[:300]}, found {str(found.get(key))[:300]}"
        for key in sorted(set(expected) | set(found), key=str)
        if expected.get(key) != found.get(key)
    ]
