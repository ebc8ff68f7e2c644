"""Random requests: documented commands with valid and mutated arguments, and bytes that are no valid requests."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from lab import command

KEYS = [b"{t}" + kind for kind in (b"string", b"list", b"hash", b"set", b"zset", b"stream", b"none", b"other")]
HOSTILE_KEYS = [b"{t}hostile:1", b"{t}hostile:2"]
"""Keys of clients whose replies are not compared."""
INJECTED = b"x\r\n+INJECTED\r\n$3\r\n{t}\r\ny"
STRINGS = [
    b"a",
    b"b",
    b"f",
    b"10",
    b"1-1",
    b"2-0",
    b"0",
    b"",
    b"x y",
    b"\x00\xff",
    b"-",
    b"+",
    b"(1",
    b"[a",
    b"$",
    b">",
]
STRINGS += [INJECTED, b"\r\n", b"a\nb", b"KEYS", b"STREAMS", b"STORE", b"GROUP", b"v" * 100]
INTEGERS = [b"0", b"1", b"2", b"3", b"10", b"-1", b"-2", b"100"]
UNUSUAL_INTEGERS = [
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"4294967296",
    b"01",
    b"+1",
]
UNUSUAL_INTEGERS += [b"1.5", b"", b"x", b"1\r\n", b"1\x00", b"1048577"]
DOUBLES = [b"0", b"1", b"-1.5", b"3.25", b"1e3", b"inf", b"-inf", b"nan", b"0x10", b"1e400"]
PATTERNS = [b"{t}*", b"*", b"{t}s*", b"[", b"\\", b"nosort"]
SCRIPTS = [b"return 1", b"return KEYS", b"return ARGV", b"return redis.call('get', KEYS[1])", b"return {ok='a\\r\\nb'}"]
SCRIPTS += [
    b"return redis.error_reply(ARGV[1])",
    b"error(ARGV[1])",
    b"return redis.call('set', KEYS[1], ARGV[1])",
    b"(",
    b"",
]
SCRIPTS += [b"return {1, {err=ARGV[1]}, {double=1.5}}", b"redis.setresp(3) return redis.call('hgetall', KEYS[1])"]
HOSTILE_SCRIPTS = [
    b'#!lua flags="a\\r\\n$9\\r\\nmalicious"\nreturn 1',
    b"#!lua name=h\nlocal a = {} return a['x\\r\\n+y'] .. 1",
]
HOSTILE_SCRIPTS += [b"return redis.error_reply('MOVED 1 127.0.0.1:1')", b"error({err='a\\r\\n+INJECTED'})", INJECTED]
HOSTILE_SCRIPTS += [
    b"local n = 0 for i = 1, 30000 do n = n + i end return n",
    b"return redis.call('cluster', 'nodes')",
]
COUNTS = frozenset({"numkeys", "numfields"})
"""Names of arguments that contain the number of the following ones."""
EXPIRING = frozenset(
    {b"expire", b"pexpire", b"expireat", b"pexpireat", b"setex", b"psetex", b"getex", b"hexpire", b"restore"}
)
EXPIRING |= {b"hpexpire", b"hexpireat", b"hpexpireat"}
EXPIRY = frozenset({b"ex", b"px", b"exat", b"pxat"})
ALLOCATING = frozenset({b"setbit", b"setrange", b"bitfield", b"bitop"})
"""Commands that can create values of hundreds of megabytes."""
CLAIMING = frozenset({b"xclaim", b"xautoclaim", b"xreadgroup", b"xpending"})
"""Commands that compare the time since another command."""


class Generator:
    """Requests for some commands, with the keys and scripts of one kind of client."""

    def __init__(
        self,
        random: Random,
        documented: Mapping[str, Sequence[Any]],
        keys: Sequence[bytes] = KEYS,
        scripts: Sequence[bytes] = SCRIPTS,
    ) -> None:
        self._random = random
        self._documented = documented
        self._names = sorted(documented)
        self._keys = keys
        self._scripts = scripts
        self._count: int | None = None
        """Number of repetitions of the next argument that can be repeated."""

    def request(self) -> list[bytes]:
        """Return a request that is valid in most cases."""
        name = self._random.choice(self._names)
        self._count = None
        arguments = self._sequence(self._documented[name])
        while self._random.random() < 0.25:
            self._mutate(arguments)
        parts = name.encode().split(b"|")
        if self._random.random() < 0.1:
            parts[0] = self._random.choice([parts[0].upper(), parts[0].capitalize(), parts[0][:-1], parts[0] + b"x"])
        return tamed([*parts, *arguments])

    def _sequence(self, arguments: Sequence[Any]) -> list[bytes]:
        words: list[bytes] = []
        for argument in arguments:
            flags = argument.get("flags", [])
            if "optional" in flags and self._random.random() < 0.6:
                continue
            if argument["name"] in COUNTS and self._random.random() < 0.9:
                self._count = self._random.randint(1, 3)
                words.append(b"%d" % self._count)
                continue
            repetitions = 1
            if "multiple" in flags:
                repetitions = self._count or self._random.choice((1, 1, 2, 3))
                self._count = None
            for number in range(repetitions):
                if "token" in argument and (number == 0 or "multiple_token" in flags):
                    words.append(argument["token"].encode())
                words += self._value(argument)
        return words

    def _value(self, argument: Any) -> list[bytes]:
        choice = self._random.choice
        match argument["type"]:
            case "pure-token":
                return []
            case "oneof":
                return self._sequence([{**choice(argument["arguments"])}])
            case "block":
                return self._sequence(argument["arguments"])
            case "key":
                return [choice(self._keys)]
            case "integer":
                return [choice(INTEGERS if self._random.random() < 0.9 else UNUSUAL_INTEGERS)]
            case "double":
                return [choice(DOUBLES)]
            case "pattern":
                return [choice(PATTERNS)]
            case "unix-time":
                return [b"4000000000"]
        return [choice(self._scripts if argument["name"] in ("script", "function-code") else STRINGS)]

    def _mutate(self, arguments: list[bytes]) -> None:
        random = self._random
        word = random.choice([*STRINGS, *INTEGERS, *UNUSUAL_INTEGERS, *self._keys])
        index = random.randint(0, len(arguments))
        match random.randint(0, 4):
            case 0:
                arguments.insert(index, word)
            case 1 if arguments:
                del arguments[index - 1]
            case 2 if arguments:
                arguments[index - 1] = word
            case 3 if arguments:
                other = random.randrange(len(arguments))
                arguments[index - 1], arguments[other] = arguments[other], arguments[index - 1]
            case _ if arguments:
                old = arguments[index - 1]
                at = random.randint(0, len(old))
                arguments[index - 1] = old[:at] + random.choice((b"\r\n", b"\x00", b"\n", b" ", b"*")) + old[at:]


def tamed(request: list[bytes]) -> list[bytes]:
    """Remove from a request what makes its reply depend on the time or on chance, what waits, and what needs much memory."""
    name = request[0].lower()
    words = {word.lower() for word in request}
    if name in EXPIRING or words & EXPIRY:
        request = [b"100000" if _is_between(word, 1, 99_999) and at > 1 else word for at, word in enumerate(request)]
    if name in EXPIRING:
        request = [word for word in request if word.lower() not in (b"gt", b"lt")]
    if name in ALLOCATING:
        request = [b"7" if _is_between(word, 100_000, 2**64) else word for word in request]
    if name in CLAIMING:
        request = [
            b"100000000" if _is_between(word, 1, 99_999_999) and at > 3 else word for at, word in enumerate(request)
        ]
    if name == b"xadd":
        request = [b"9-9" if b"*" in word else word for word in request]
    if name in (b"xread", b"xreadgroup"):
        request = [word for word in request if word.lower() != b"block"]
    return request


def _is_between(word: bytes, first: int, last: int) -> bool:
    return word.isdigit() and len(word) < 25 and first <= int(word) <= last


def malformed(random: Random) -> bytes:
    """Return the bytes of some requests with a few random changes."""
    bases = [
        [b"GET", b"{t}string"],
        [b"SET", b"{t}hostile:1", b"value"],
        [b"PING"],
        [b"ECHO", b"a\r\nb"],
        [b"EXISTS", b"a"],
    ]
    data = bytearray(b"".join(command(*random.choice(bases)) for _ in range(random.randint(1, 3))))
    if random.random() < 0.15:
        data = bytearray(
            random.choice([b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"PING 'a\"\r\n"])
        )
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(data))
        match random.randint(0, 3):
            case 0:
                data[at] = random.choice(b"\r\n\x00*$019-X")
            case 1:
                data[at:at] = random.choice([b"\r", b"\n", b"\r\n", b"\x00", b"*", b"$", b"9", b"-1", b"*1\r\n"])
            case 2:
                del data[at]
            case _:
                del data[at : at + random.randint(1, 8)]
        if not data:
            return b"\r\n"
    return bytes(data)
