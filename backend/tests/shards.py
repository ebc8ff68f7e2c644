"""Real shards for tests: nodes on loopback addresses of this test's own, each a Supervisor with valkey-server processes."""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from shardboard.agent.contract import (
    BdbSpec,
    CommandResult,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    ShardSpec,
    StartShards,
)
from shardboard.agent.engine import engine_version
from shardboard.agent.processes import Supervisor
from shardboard.agent.resp import EngineError
from shardboard.agent.settings import AgentSettings
from shardboard.agent.shard import Shard
from shardboard.domain import slots
from shardboard.domain.creation import Wanted, next_step
from shardboard.domain.flash import Share
from shardboard.driver import cluster
from shardboard.driver.cluster import Engine, ShardRef
from shardboard.driver.ports import NodeRef, Sample
from shardboard.loopback import claim_network

FIRST_PORT = 20000
BUS_OFFSET = 5000
PASSWORD = "test-admin-password"

DISTRIBUTION = "/usr/bin/valkey-server"
OLDER = engine_version(DISTRIBUTION).startswith("8.")
"""Whether the distribution's engine, which tests run beside the newest, is Valkey 8."""

_addresses: list[str] = []

ENGINE = Engine(
    uid=1,
    cluster=True,
    admin_password=PASSWORD,
    client_passwords=[],
    default_user=True,
    memory=Share(0),
    eviction_policy="noeviction",
    appendonly=False,
    appendfsync_always=False,
    save=[],
    maxclients=1000,
)


def own_address() -> str:
    """127/8 is all loopback: on an address of its own a test meets no port of another test or run."""
    if not _addresses:
        network = claim_network()
        _addresses.extend(f"{network}.{number}" for number in range(1, 255))
    return _addresses.pop()


async def command_line(pid: int) -> list[str]:
    """Of a process that was just started: for a moment after that the kernel tells none, nor the program's own name."""
    found: list[str] = await until(psutil.Process(pid).cmdline)
    return found


class Farm:
    """Some nodes and their supervisors. Implements what `driver.cluster` needs of `ports.Agents`, without HTTP between."""

    def __init__(self, root: Path, size: int) -> None:
        self.settings = {
            uid: AgentSettings(address=own_address(), state_dir=root / f"node{uid}") for uid in range(1, size + 1)
        }
        self.nodes = [NodeRef(uid, settings.address, 9700) for uid, settings in self.settings.items()]
        self.supervisors = {uid: Supervisor(settings) for uid, settings in self.settings.items()}
        self.root = root

    def __getitem__(self, uid: int) -> Supervisor:
        return self.supervisors[uid]

    async def restart_agent(self, uid: int = 1, **changes: Any) -> Supervisor:
        """What a new agent process on the same state directory finds; the old one does nothing more."""
        for shard in self.supervisors[uid].shards.values():
            shard.disconnect()
        self.supervisors[uid] = Supervisor(replace(self.settings[uid], **changes))
        await self.supervisors[uid].adopt()
        return self.supervisors[uid]

    async def shards(self, node: NodeRef) -> list[ShardReport]:
        self[node.uid].check()
        return [shard.report() for shard in self[node.uid].shards.values()]

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        return await self[node.uid].start(request)

    async def remove(self, node: NodeRef, shards: Mapping[int, str]) -> list[ShardOutcome]:
        return await self[node.uid].remove(list(shards), engine_ids=shards)

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        return [await self._told(self[node.uid].shards[asked.uid], asked) for asked in commands]

    async def _told(self, shard: Shard, asked: ShardCommand) -> CommandResult:
        try:
            return CommandResult(uid=asked.uid, ok=True, reply=str(await ask(shard, *asked.argv)))
        except EngineError as error:
            return CommandResult(uid=asked.uid, ok=False, reply=str(error))

    def engines(self) -> list[psutil.Process]:
        """Every engine process that runs anywhere below this farm's directory, whoever keeps track of it."""
        return engines_below(self.root)


@asynccontextmanager
async def farm(root: Path, size: int = 1) -> AsyncIterator[Farm]:
    """`size` empty nodes, numbered from 1. Whatever they started is gone afterwards."""
    opened = Farm(root, size)
    try:
        for supervisor in opened.supervisors.values():
            await supervisor.adopt()
        yield opened
    finally:
        for supervisor in opened.supervisors.values():
            await supervisor.remove(list(supervisor.shards))
        end_engines_below(root)


def engines_below(root: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["name"]):
        try:
            if process.info["name"] == "valkey-server" and Path(process.cwd()).is_relative_to(root.resolve()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def end_engines_below(root: Path) -> None:
    """Kill them, and wait until their ports are free."""
    processes = engines_below(root)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=30)


def ended(process: psutil.Process) -> bool:
    """Whether nothing is left of a child of ours but how it ended, which stays for whoever started it to read.

    A process that is ending has no directory any more, so `engines_below` misses it, long before its parent is told.
    """
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:  # that has been read already
        return True


def lone(uid: int = 1, **changes: Any) -> ShardSpec:
    """A shard outside cluster mode."""
    port = FIRST_PORT + uid
    fields: dict[str, Any] = {
        "uid": uid,
        "bdb_uid": 1,
        "engine_id": f"{uid:040x}",
        "port": port,
        "bus_port": port + BUS_OFFSET,
        "role": "master",
    }
    return ShardSpec(**fields | changes)


def request(*shards: ShardSpec, **changes: Any) -> StartShards:
    """Start these shards outside cluster mode; `changes` are those of the database."""
    fields: dict[str, Any] = {
        "uid": 1,
        "cluster": False,
        "peers": [],
        "admin_password": PASSWORD,
        "client_password": "",
        "maxmemory": 0,
        "eviction_policy": "noeviction",
        "appendonly": False,
        "appendfsync": "everysec",
        "save": [],
        "node_timeout_ms": 5000,
        "hz": 10,
        "maxclients": 1000,
    }
    return StartShards(bdb=BdbSpec(**fields | changes), shards=list(shards))


def layout(nodes: Sequence[NodeRef], pairs: int, *, replication: bool, first_uid: int = 1) -> list[ShardRef]:
    """Primaries on the nodes in turn, each replica one node further."""
    ranges = slots.split(pairs)
    roles = ("master", "slave") if replication else ("master",)
    return [
        ShardRef(
            uid=first_uid + pair + pairs * step,
            node=nodes[(pair + step) % len(nodes)],
            pair=pair,
            role=role,
            slots=(ranges[pair],),
            port=FIRST_PORT + first_uid + pair + pairs * step,
            bus_port=FIRST_PORT + first_uid + pair + pairs * step + BUS_OFFSET,
            engine_id=f"{0xABC000 + first_uid + pair + pairs * step:040x}",
        )
        for step, role in enumerate(roles)
        for pair in range(pairs)
    ]


async def bring_up(agents: Farm, engine: Engine, shards: Sequence[ShardRef], seconds: float = 60) -> None:
    """As the creation loop does it."""
    wanted = [Wanted(shard.uid, shard.node.uid, shard.role, shard.pair) for shard in shards]
    async with asyncio.timeout(seconds):
        while True:
            step = next_step(wanted, await cluster.look(agents, shards, cluster=engine.cluster))
            assert not step.failed, step.failed
            if step.done:
                return
            refused = await cluster.start(agents, engine, shards, step.start)
            assert not refused, refused
            await cluster.take_over(agents, [shard for shard in shards if shard.uid in step.promote])
            await asyncio.sleep(0.02)


async def ask(shard: Shard, *argv: str) -> Any:
    """One command as the admin user."""
    return await (await shard.connect()).execute(*argv)


async def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until `condition` (a plain or a coroutine function) gives something true, and return that.

    A passing test never waits this long: the limit only ends one that hangs, on however slow a machine.
    """
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.01)


async def seconds(stream: AsyncIterator[Sample | None] | AsyncIterator[bytes]) -> AsyncIterator[Sample]:
    """The samples of a stream, of the console's client or of the agent itself, without the pulses between them."""
    try:
        async for sample in stream:
            if isinstance(sample, Sample):
                yield sample
            elif sample is not None and sample.strip():
                yield Sample.model_validate_json(sample)
    finally:
        await stream.aclose()  # type: ignore[attr-defined]
