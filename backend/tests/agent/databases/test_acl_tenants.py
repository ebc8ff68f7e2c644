"""Users whose rules name some keys of a database cannot read, find or change other keys through a real endpoint.

The rules are those that the console sends for an access list with all commands. Each command of the engine is tried with many
arguments.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.support.real_shards import (
    ENGINE,
    LocalNodes,
    execute_as_admin,
    local_nodes,
    plan_shards,
    start_database,
    wait_until,
)

from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.contract import ProxyDatabase, ProxyShard, ProxyState
from shardboard.domain.access.acl_rules import engine_rules

PORT = 12000
SECRET = "SECRET-of-another-tenant"
"""Part of the names, values and code of the other tenant. The attacker never sends it."""
GUESSED = "other:{guessed}1"
"""Name of a key of the other tenant that the attacker knows."""
MISSING = "other:{guessed}2"
"""Name of a key that does not exist."""
RULES = "+@all ~tenant:* &tenant:*"
NOT_SENT = frozenset(
    (
        "auth", "client|reply", "debug", "exec", "hello", "migrate", "monitor", "multi", "psync", "quit", "replconf", "reset",
        "restore", "shutdown", "sync",
    )
)  # fmt: skip
"""Commands that change how replies of the connection must be read, or that wait for other processes."""
WORDS = (
    *(b"0", b"1", b"2", b"*", b"-", b"+", b"$", b">", b"other:*", GUESSED.encode(), b"tenant:1", b"tenant:list"),
    *(
        b"MATCH",
        b"COUNT",
        b"TYPE",
        b"string",
        b"BY",
        b"GET",
        b"STORE",
        b"STREAMS",
        b"KEYS",
        b"BCAST",
        b"ON",
        b"WITHCODE",
    ),
    *(b"PREFIX", b"LIBRARYNAME", b"#", b"", b"1000", b"SLOT", b"WITHVALUES", b"return redis.call('GET', KEYS[1])"),
)


class Tenants:
    """A database of three shards with data of two tenants, and clients of both at its endpoint."""

    def __init__(self, nodes: LocalNodes) -> None:
        self.nodes = nodes
        self.address = nodes.settings[1].address

    async def on_all(self, *argv: str) -> None:
        for shard in self.nodes[1].shards.values():
            await execute_as_admin(shard, *argv)

    def connect(self, user: str, **options: Any) -> "valkey.Valkey[bytes]":
        return valkey.Valkey(self.address, PORT, username=user, password=user, socket_timeout=60, **options)

    async def commands(self) -> dict[str, Any]:
        """Return all commands and subcommands of the engine with their tables."""
        shard = next(iter(self.nodes[1].shards.values()))
        rows = await execute_as_admin(shard, "COMMAND")
        found = {text(row[0]): row for row in rows}
        for row in rows:
            found |= {text(each[0]): each for each in row[9]}
        return found


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@pytest.fixture
async def tenants(tmp_path: Path) -> AsyncIterator[Tenants]:
    async with local_nodes(tmp_path) as nodes:
        shards = plan_shards(nodes.nodes, 3, replication=False)
        await start_database(nodes, ENGINE, shards)
        found = Tenants(nodes)
        proxy = ProxyProcess(nodes.settings[1])
        task = asyncio.create_task(proxy.run())
        places = [
            ProxyShard(
                uid=shard.uid,
                engine_id=shard.engine_id,
                role="master",
                address=shard.node.addr,
                port=shard.port,
                slots=list(shard.slots),
            )
            for shard in shards
        ]
        database = ProxyDatabase(
            uid=1,
            port=PORT,
            hides_cluster=True,
            cluster=True,
            version=1,
            tls=False,
            max_connections=0,
            shards=places,
            endpoints=[],
        )
        await proxy.apply(ProxyState(threads=1, databases=[database]))
        await found.on_all(
            "ACL", "SETUSER", "owner", "reset", "on", ">owner", *engine_rules("+@all ~* &*", all_channels=True)
        )
        await found.on_all(
            "ACL", "SETUSER", "narrow", "reset", "on", ">narrow", *engine_rules(RULES, all_channels=False)
        )
        try:
            yield found
        finally:
            await proxy.park()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def add_data(owner: "valkey.Valkey[bytes]") -> None:
    """Add data of both tenants, on all shards."""
    for number in range(30):
        owner.set(f"other:{SECRET}:{number}", SECRET)
        owner.set(f"tenant:{number}", "own")
    owner.set(GUESSED, SECRET)
    owner.rpush("tenant:list", "guessed", "1", "2")
    owner.hset("other:hash", "guessed", SECRET)
    owner.function_load(
        f"#!lua name=library\nserver.register_function('other', function() return '{SECRET}' end)", True
    )


def everything_of_others(owner: "valkey.Valkey[bytes]") -> dict[bytes, object]:
    names = sorted(name for name in owner.keys("*") if not name.startswith(b"tenant:"))
    data: dict[bytes, object] = {name: owner.dump(name) for name in names}
    return data | {b"functions": owner.function_list(withcode=True)}


async def replies(tenants: Tenants, commands: Iterable[Sequence[bytes]]) -> list[bytes]:
    """Send commands over one connection in RESP3, one after another, and return everything that arrives for each."""
    reader, writer = await asyncio.open_connection(tenants.address, PORT, limit=2**24)

    async def send(number: int, *words: bytes) -> bytes:
        """Return all bytes up to the reply of a following ECHO."""
        fence = b"fence-%d" % number
        for request in (words, (b"ECHO", fence)):
            writer.write(b"*%d\r\n" % len(request) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in request))
        return await asyncio.wait_for(reader.readuntil(b"$%d\r\n%b\r\n" % (len(fence), fence)), 60)

    assert b"proto" in await send(-1, b"HELLO", b"3", b"AUTH", b"narrow", b"narrow")
    found = [await send(number, *command) for number, command in enumerate(commands)]
    writer.close()
    return found


def attempts(table: dict[str, Any], seed: int, count: int) -> list[list[bytes]]:
    """Return `count` requests of each command, with arguments that name other keys or all keys."""
    rng = random.Random(seed)
    found = []
    for name in sorted(table):
        flags = {text(flag) for flag in table[name][2]}
        if name in NOT_SENT or ({"blocking", "pubsub"} & flags and name not in ("publish", "spublish")):
            continue
        words = name.encode().split(b"|")
        found += [[*words, *rng.choices(WORDS, k=rng.randrange(6))] for _ in range(count)]
        found += [[*words, GUESSED.encode()], [*words, b"tenant:1"], [*words, b"*"], [*words, b"0"], words]
    return found


@pytest.mark.older
async def test_narrow_user_learns_and_changes_nothing_of_others(tenants: Tenants) -> None:
    owner = tenants.connect("owner")
    await wait_until(lambda: asyncio.to_thread(owner.ping))
    await asyncio.to_thread(add_data, owner)
    before = await asyncio.to_thread(everything_of_others, owner)
    with_others = tenants.connect("owner", client_name=SECRET)
    subscriber = with_others.pubsub()
    subscriber.subscribe(SECRET)
    subscriber.get_message(timeout=60)
    table = await tenants.commands()
    sent = attempts(table, 1, 4)
    received = await replies(tenants, sent)
    leaks = {b" ".join(request) for request, reply in zip(sent, received, strict=True) if SECRET.encode() in reply}
    assert leaks == set()
    without_key = [[word.replace(GUESSED.encode(), MISSING.encode()) for word in request] for request in sent]
    of_missing = await replies(tenants, without_key)
    revealing = {
        request[0].decode()
        for request, found, missing in zip(sent, received, of_missing, strict=True)
        if GUESSED.encode() in request and found != missing.replace(MISSING.encode(), GUESSED.encode())
    }
    assert revealing == set(), "replies reveal whether a key exists"
    executed = {request[0] for request, reply in zip(sent, received, strict=True) if reply[:1] not in b"-!"}
    assert len(executed) > 30, "requests for own keys are executed"
    assert await asyncio.to_thread(everything_of_others, owner) == before
    subscriber.close()


CASES = [
    "RANDOMKEY", "KEYS *", "KEYS other:*", "SCAN 0", "SCAN 0 MATCH other:* COUNT 1000", "SCAN 0 COUNT 1000 TYPE string",
    "SORT tenant:list BY other:* GET other:*", "SORT tenant:list BY nosort GET other:*", "SORT_RO tenant:list GET other:*",
    "SORT tenant:list BY nosort GET other:hash->guessed", "SORT tenant:list BY other:*->x", "OBJECT ENCODING {GUESSED}",
    "OBJECT FREQ {GUESSED}", "MEMORY USAGE {GUESSED}", "TYPE {GUESSED}", "EXISTS {GUESSED}",
    "EXISTS tenant:1 {GUESSED}", "TTL {GUESSED}", "DUMP {GUESSED}", "TOUCH {GUESSED}",
    "COPY {GUESSED} tenant:copy", "RENAME {GUESSED} tenant:copy", "LCS tenant:1 {GUESSED}",
    "SINTERSTORE tenant:copy 1 {GUESSED}", "BITOP NOT tenant:copy {GUESSED}", "MGET tenant:1 {GUESSED}",
    "GETRANGE {GUESSED} 0 -1", "WATCH {GUESSED}", "PUBSUB CHANNELS", "PUBSUB SHARDCHANNELS",
    "PUBLISH other x", "SPUBLISH other x", "CLIENT LIST", "CLIENT TRACKING ON BCAST",
    "CLIENT KILL ID 1", "FUNCTION LIST WITHCODE", "FUNCTION DUMP", "FUNCTION FLUSH", "FUNCTION DELETE library",
    "FLUSHALL", "FLUSHDB", "SCRIPT FLUSH", "CLUSTER GETKEYSINSLOT 0 10", "MONITOR", "SLOWLOG GET", "COMMANDLOG GET 10 0 slow",
    "LATENCY LATEST", "ACL LIST", "ACL GETUSER owner", "ACL LOG", "ACL DRYRUN owner GET {GUESSED}", "CONFIG GET *",
    "DEBUG OBJECT {GUESSED}", "MIGRATE 127.0.0.1 1 {GUESSED} 0 1", "RESTORE other:new 0 x",
    "GEORADIUS tenant:geo 0 0 1 m STORE {GUESSED}", "XREAD STREAMS {GUESSED} 0", "CLUSTERSCAN 0",
]  # fmt: skip


@pytest.mark.older
async def test_known_ways_to_other_keys_are_refused(tenants: Tenants) -> None:
    owner = tenants.connect("owner")
    await wait_until(lambda: asyncio.to_thread(owner.ping))
    await asyncio.to_thread(add_data, owner)
    sent = [case.replace("{GUESSED}", GUESSED).encode().split() for case in CASES]
    sent += [
        [b"EVAL", b"return redis.call('%s', unpack(ARGV))" % words[0], b"0", *words[1:]]
        for words in sent
        if words[0] not in (b"WATCH", b"MONITOR", b"MIGRATE")
    ]
    received = await replies(tenants, sent)
    accepted = {b" ".join(sent[at]): reply for at, reply in enumerate(received) if reply[:1] not in b"-!"}
    assert {request: reply for request, reply in accepted.items() if not request.startswith(b"CLIENT LIST")} == {}
    assert all(b"user=owner" not in reply for reply in accepted.values())
    for function in ("subscribe", "psubscribe", "ssubscribe"):
        pubsub = tenants.connect("narrow").pubsub()
        await asyncio.to_thread(getattr(pubsub, function), "other")
        with pytest.raises(valkey.exceptions.NoPermissionError):
            await asyncio.to_thread(pubsub.get_message, timeout=60)
    [names] = await replies(tenants, [[b"COMMAND", b"GETKEYS", b"MGET", GUESSED.encode(), b"tenant:1"]])
    assert names.startswith(b"*2\r\n"), "this command only parses its arguments"


@pytest.mark.slow
async def test_named_commands_give_access_to_names_only(tenants: Tenants) -> None:
    """Access lists that name SCAN return the names of all keys, but not their values."""
    await tenants.on_all("ACL", "SETUSER", "narrow", *engine_rules(f"{RULES} +scan", all_channels=False))
    owner = tenants.connect("owner")
    await wait_until(lambda: asyncio.to_thread(owner.ping))
    await asyncio.to_thread(add_data, owner)
    narrow = tenants.connect("narrow")
    names = await asyncio.to_thread(lambda: list(narrow.scan_iter()))
    assert f"other:{SECRET}:1".encode() in names
    with pytest.raises(valkey.exceptions.NoPermissionError):
        await asyncio.to_thread(narrow.get, GUESSED)
    with pytest.raises(valkey.exceptions.NoPermissionError):
        await asyncio.to_thread(narrow.keys)


@pytest.mark.slow
async def test_totals_of_the_database_are_visible(tenants: Tenants) -> None:
    owner, narrow = tenants.connect("owner"), tenants.connect("narrow")
    await wait_until(lambda: asyncio.to_thread(owner.ping))
    await asyncio.to_thread(add_data, owner)
    assert await asyncio.to_thread(narrow.dbsize) == await asyncio.to_thread(owner.dbsize)
    assert await asyncio.to_thread(narrow.info, "keyspace") == await asyncio.to_thread(owner.info, "keyspace")
