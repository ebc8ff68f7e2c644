"""The events, one function each. Each returns when the world has recovered."""

import random
import signal
import time
from collections.abc import Callable
from typing import Any

from world import World, ask, expanded


def failover(world: World, dice: random.Random) -> None:
    """Promote a replica with a planned failover. The primary waits for it, so nothing may be lost."""
    primary = dice.choice(world.primaries())
    replica = world.replica_of(primary)
    world.hand_over(replica)
    world.swap(primary)
    # Clients and MOVED replies are sometimes faster than the console.
    time.sleep(dice.uniform(0, 0.5))
    world.push()
    world.in_sync(primary)


def kill(world: World, dice: random.Random) -> None:
    """Kill a primary, promote its replica like the console does, and restart the process as a replica."""
    primary = dice.choice(world.primaries())
    replica = world.replica_of(primary)
    world.kill(primary)
    time.sleep(dice.uniform(0.2, 0.8))
    world.promote(replica)
    world.swap(primary)
    world.push()
    world.revive(primary)


def migrate(world: World, dice: random.Random) -> None:
    """Move slots with keys of the clients from one primary to another, key by key."""
    source, target = dice.sample(world.primaries(), 2)
    slot_numbers = [slot for slot in sorted(world.slots_in_use()) if slot in expanded(source["slots"])]
    slots = set(dice.sample(slot_numbers, min(len(slot_numbers), 40))) | set(dice.sample(sorted(expanded(source["slots"])), 10))
    for slot in sorted(slots):
        move(world, slot, source, target)
    world.give(slots, target)
    time.sleep(dice.uniform(0, 0.5))
    world.push()


def move(world: World, slot: int, source: dict[str, Any], target: dict[str, Any]) -> None:
    """Move one slot in the usual way."""
    assert ask(world.at(target), "CLUSTER", "SETSLOT", slot, "IMPORTING", source["id"]).startswith("+OK")
    assert ask(world.at(source), "CLUSTER", "SETSLOT", slot, "MIGRATING", target["id"]).startswith("+OK")
    while True:
        reply = ask(world.at(source), "CLUSTER", "GETKEYSINSLOT", slot, 10)
        keys = reply.split("\r\n")[2::2]
        if not keys:
            break
        migrate_reply = ask(world.at(source), "MIGRATE", *world.at(target), "", 0, 5000, "KEYS", *keys)
        assert migrate_reply.startswith(("+OK", "+NOKEY")), migrate_reply
    for shard in (target, source, *world.primaries()):
        assert ask(world.at(shard), "CLUSTER", "SETSLOT", slot, "NODE", target["id"]).startswith("+OK")


def freeze(world: World, dice: random.Random) -> None:
    """Suspend a primary for a second."""
    server = world.servers[dice.choice(world.primaries())["port"]]
    server.send_signal(signal.SIGSTOP)
    try:
        time.sleep(1)
    finally:
        server.send_signal(signal.SIGCONT)


def takeover(world: World, dice: random.Random) -> None:
    """Start a new proxy process that takes over the sockets. Clients of the old one have three seconds to disconnect."""
    number = dice.randrange(len(world.proxies))
    old = world.proxies[number]
    world.proxies[number] = world.start_proxy(number)
    world.push()
    time.sleep(0.5)
    old.order("drain", seconds=3)
    old.process.wait(timeout=60)


def restart(world: World, dice: random.Random) -> None:
    """Kill a proxy and restart it."""
    number = dice.randrange(len(world.proxies))
    world.proxies[number].process.kill()
    world.proxies[number].process.wait()
    world.proxies[number] = world.start_proxy(number)
    world.push()


def threads(world: World, dice: random.Random) -> None:
    """Change the number of threads twice."""
    for count in (dice.choice([1, 3]), 2):
        world.threads = count
        for proxy in world.proxies:
            proxy.order("threads", threads=count)
            proxy.expect("applied")
        time.sleep(0.3)


EVENTS: dict[str, Callable[[World, random.Random], None]] = {
    event.__name__: event for event in (failover, kill, migrate, freeze, takeover, restart, threads)
}
