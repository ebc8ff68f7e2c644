"""The whole content of a server in comparable form."""

from typing import Any

from commands import comparable
from wire import Wire

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
    wire = Wire(address)
    if readonly:
        wire.say("READONLY")
    found: dict[Any, Any] = {}
    for number in range(databases):
        if databases > 1:
            wire.say("SELECT", number)
        names = scan(wire)
        for kind in READS:
            typed = scan(wire, "TYPE", kind)
            for name in typed:
                found[number, name, "scanned"] = kind
        for name in names:
            kind = wire.say("TYPE", name)
            asked = (READS[kind][0], name, *READS[kind][1:])
            found[number, name] = (kind, comparable(asked, wire.say(*asked)), wire.say("PEXPIRETIME", name))
    wire.close()
    return found


def scan(wire: Wire, *options: Any) -> list[bytes]:
    """Return all key names that SCAN finds."""
    names, cursor = [], b"0"
    while True:
        cursor, some = wire.say("SCAN", cursor, "COUNT", 100, *options)
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
