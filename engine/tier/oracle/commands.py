"""Random commands of every type, and a comparable form of their replies."""

from collections.abc import Callable
from random import Random
from typing import Any

Command = tuple[Any, ...]

# Commands whose replies have no defined order.
UNORDERED = {"SMEMBERS", "HGETALL", "HKEYS", "HVALS", "SINTER", "SUNION", "SDIFF", "KEYS"}

SCRIPTS = [
    "return redis.call('GET', KEYS[1])",
    "redis.call('APPEND', KEYS[1], ARGV[1]) return redis.call('STRLEN', KEYS[1])",
    "redis.call('SET', KEYS[1], ARGV[1]) redis.call('RPUSH', KEYS[2], ARGV[1]) return redis.call('LLEN', KEYS[2])",
    "local r = redis.pcall('HSET', KEYS[1], 'f', ARGV[1]) if type(r) == 'table' then return 'failed' end return r",
    "local t = redis.call('TYPE', KEYS[2]) return t['ok']",
]


class Commands:
    """Generate random commands. The same seed generates the same commands."""

    def __init__(self, random: Random, databases: int) -> None:
        self.random = random
        self.databases = databases
        self.families: list[Callable[[], Command]] = [
            *[self.strings] * 6, *[self.lists] * 4, *[self.hashes] * 4, *[self.zsets] * 4,
            *[self.sets] * 2, self.streams, *[self.any_key] * 6, self.script, self.sort,
        ]  # fmt: skip

    def key(self, family: str = "") -> str:
        """Return a key, usually of the given family. Keys of other families cause type errors."""
        family = family if family and self.random.random() < 0.95 else self.random.choice("slhzex")
        return f"{{t}}{family}{self.random.randrange(12)}"

    def value(self) -> str:
        """Return a value whose size is above or below the minimum for demotion."""
        size = self.random.choice([3, 20, 70, 100, 300, 2000])
        return "".join(self.random.choices("abcdefgh", k=size))

    def member(self) -> str:
        """Return one of 30 members, some of them long."""
        number = self.random.randrange(30)
        return f"m{number}" + "x" * (number % 3 * 40)

    def number(self) -> int:
        """Return a small number that can be negative."""
        return self.random.randrange(-5, 20)

    def next(self) -> Command:
        """Return a command of a random family."""
        return self.random.choice(self.families)()

    def strings(self) -> Command:
        """Return a command for strings or bits."""
        key, n = self.key("s"), self.random.randrange
        return self.random.choice(
            [
                ("SET", key, self.value()),
                ("SET", key, self.value()),
                ("SET", key, self.value(), "GET"),
                ("SET", key, self.value(), "XX", "KEEPTTL"),
                ("SETNX", key, self.value()),
                ("GET", key),
                ("GETSET", key, self.value()),
                ("GETDEL", key),
                ("GETEX", key, "PERSIST"),
                ("APPEND", key, self.value()),
                ("STRLEN", key),
                ("GETRANGE", key, self.number(), self.number()),
                ("SETRANGE", key, n(50), self.value()),
                ("INCR", key),
                ("MGET", key, self.key("s"), self.key()),
                ("MSET", key, self.value(), self.key("s"), self.value()),
                ("SETBIT", key, n(2000), n(2)),
                ("GETBIT", key, n(2000)),
                ("BITCOUNT", key),
                ("BITPOS", key, n(2)),
                ("BITFIELD", key, "INCRBY", "u8", n(100), n(9)),
                ("BITOP", "XOR", self.key("s"), key, self.key("s")),
                ("LCS", key, self.key("s"), "LEN"),
                ("PFADD", self.key("x"), self.member(), self.member()),
                ("PFCOUNT", self.key("x"), self.key("x")),
            ]
        )

    def lists(self) -> Command:
        """Return a command for lists."""
        key = self.key("l")
        return self.random.choice(
            [
                ("RPUSH", key, self.value(), self.member()),
                ("LPUSH", key, self.value()),
                ("RPUSHX", key, self.value()),
                ("LPOP", key),
                ("RPOP", key, 2),
                ("LLEN", key),
                ("LRANGE", key, self.number(), self.number()),
                ("LRANGE", key, 0, -1),
                ("LINDEX", key, self.number()),
                ("LSET", key, self.number(), self.value()),
                ("LINSERT", key, "BEFORE", self.member(), self.value()),
                ("LREM", key, 0, self.member()),
                ("LTRIM", key, 0, 20),
                ("LPOS", key, self.member()),
                ("LMOVE", key, self.key("l"), "LEFT", "RIGHT"),
                ("RPOPLPUSH", key, self.key("l")),
                ("BLPOP", key, self.key("l"), "0.001"),
                ("BLMOVE", key, self.key("l"), "LEFT", "LEFT", "0.001"),
                ("LMPOP", 2, key, self.key("l"), "LEFT"),
            ]
        )

    def hashes(self) -> Command:
        """Return a command for hashes."""
        key = self.key("h")
        return self.random.choice(
            [
                ("HSET", key, self.member(), self.value(), self.member(), self.value()),
                ("HSET", key, self.member(), self.value()),
                ("HSETNX", key, self.member(), self.value()),
                ("HGET", key, self.member()),
                ("HMGET", key, self.member(), self.member()),
                ("HGETALL", key),
                ("HKEYS", key),
                ("HVALS", key),
                ("HLEN", key),
                ("HSTRLEN", key, self.member()),
                ("HEXISTS", key, self.member()),
                ("HDEL", key, self.member(), self.member()),
                ("HINCRBY", key, self.member(), self.number()),
                ("HINCRBYFLOAT", key, "n", "1.5"),
            ]
        )

    def zsets(self) -> Command:
        """Return a command for sorted sets or geographic positions."""
        key, score = self.key("z"), self.random.randrange(100) / 7
        return self.random.choice(
            [
                ("ZADD", key, score, self.member(), self.number(), self.member()),
                ("ZADD", key, "inf", self.member()),
                ("ZADD", key, "GT", "CH", score, self.member()),
                ("ZSCORE", key, self.member()),
                ("ZMSCORE", key, self.member(), self.member()),
                ("ZRANK", key, self.member(), "WITHSCORE"),
                ("ZCARD", key),
                ("ZCOUNT", key, 0, 10),
                ("ZRANGE", key, 0, -1, "WITHSCORES"),
                ("ZRANGEBYSCORE", key, 1, 9),
                ("ZINCRBY", key, self.number(), self.member()),
                ("ZREM", key, self.member()),
                ("ZPOPMIN", key),
                ("ZREMRANGEBYRANK", key, 0, 0),
                ("ZUNIONSTORE", self.key("z"), 2, key, self.key("z")),
                ("ZDIFF", 2, key, self.key("z")),
                ("ZRANGESTORE", self.key("z"), key, 0, 5),
                ("GEOADD", key, "13.361389", "38.115556", self.member()),
                ("GEOSEARCH", key, "FROMLONLAT", 15, 37, "BYRADIUS", 200, "km", "ASC"),
            ]
        )

    def sets(self) -> Command:
        """Return a command for sets."""
        key = self.key("e")
        return self.random.choice(
            [
                ("SADD", key, self.member(), self.member()),
                ("SREM", key, self.member()),
                ("SMEMBERS", key),
                ("SCARD", key),
                ("SISMEMBER", key, self.member()),
                ("SMOVE", key, self.key("e"), self.member()),
                ("SUNIONSTORE", self.key("e"), key, self.key("e")),
                ("SDIFF", key, self.key("e")),
            ]
        )

    def streams(self) -> Command:
        """Return a command for streams with given ids."""
        key = self.key("x") + "stream"
        return self.random.choice(
            [
                ("XADD", key, f"{self.random.randrange(10**6)}-1", "f", self.value()),
                ("XLEN", key),
                ("XRANGE", key, "-", "+"),
                ("XTRIM", key, "MAXLEN", 10),
                ("XREAD", "COUNT", 3, "STREAMS", key, "0"),
            ]
        )

    def any_key(self) -> Command:
        """Return a command that works with every type."""
        key = self.key()
        return self.random.choice(
            [
                ("DEL", key),
                ("UNLINK", key, self.key()),
                ("EXISTS", key, self.key()),
                ("TYPE", key),
                ("TYPE", key),
                ("PEXPIREAT", key, 4_000_000_000_000 + self.number()),
                ("PEXPIRETIME", key),
                ("PERSIST", key),
                ("TOUCH", key),
                ("RENAME", key, self.key()),
                ("RENAMENX", key, self.key()),
                ("COPY", key, self.key(), "REPLACE"),
                ("DBSIZE",),
                ("OBJECT", "REFCOUNT", key),
                ("RPUSH", key, self.value(), self.value()),
                ("GET", key),
                *([("MOVE", key, self.random.randrange(self.databases))] if self.databases > 1 else []),
                *([("SELECT", self.random.randrange(self.databases))] * 2 if self.databases > 1 else []),
                *([("SWAPDB", 0, 1)] if self.databases > 1 else []),
            ]
        )

    def script(self) -> Command:
        """Return a call of a script."""
        return ("EVAL", self.random.choice(SCRIPTS), 2, self.key("s"), self.key("l"), self.value())

    def sort(self) -> Command:
        """Return a SORT command. With BY and GET it reads keys that are named only by list elements."""
        if self.databases > 1 and self.random.random() < 0.5:
            return ("SORT", self.key("l"), "BY", "{t}s*", "ALPHA", "GET", "#", "GET", "{t}h*->m1")
        return ("SORT", self.key("l"), "ALPHA", "STORE", self.key("l"))

    def transaction(self) -> list[Command]:
        """Return a transaction of one to four commands."""
        inside = [self.next() for _ in range(self.random.randrange(1, 5))]
        return [("MULTI",), *inside, (self.random.choice(["EXEC", "EXEC", "DISCARD"]),)]


def comparable(asked: Command, reply: Any) -> Any:
    """Return the reply, sorted if its order is undefined."""
    if asked[0] == "HGETALL" and isinstance(reply, list):
        return sorted(zip(reply[::2], reply[1::2], strict=True))
    if asked[0] == "SORT" and "BY" in asked and isinstance(reply, list):
        # Elements with equal weights have the order of the hash table.
        return sorted(zip(reply[::2], reply[1::2], strict=True), key=str)
    if asked[0] in UNORDERED and isinstance(reply, list):
        return sorted(reply)
    return reply


def answers(asked: list[Command], replies: list[Any]) -> list[Any]:
    """Return the comparable replies of a batch, including the replies inside transactions."""
    found, queued = [], []
    for one, reply in zip(asked, replies, strict=True):
        if one[0] == "MULTI":
            queued = []
        if one[0] == "EXEC" and isinstance(reply, list):
            found.append([comparable(*pair) for pair in zip(queued, reply, strict=True)])
        else:
            found.append(comparable(one, reply))
        if reply == b"QUEUED":
            queued.append(one)
    return found
