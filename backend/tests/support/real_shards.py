"""Real shards for tests: nodes on loopback addresses that only this test uses, each a Supervisor with valkey-server processes."""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from shardboard.agent.databases.engine import engine_version
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.settings import AgentSettings
from shardboard.contract import BdbSpec, CommandResult, ShardCommand, ShardOutcome, ShardReport, ShardSpec, StartShards
from shardboard.domain.databases.creation import DesiredShard, next_step
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement import slots
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import NodeRef, Sample
from shardboard.driver.valkey_cluster import EngineSettings, ShardRef
from shardboard.local.loopback import claim_network

FIRST_PORT = 20000
BUS_OFFSET = 5000
PASSWORD = "test-admin-password"

DISTRIBUTION_SERVER = "/usr/bin/valkey-server"
HAS_VALKEY_8 = engine_version(DISTRIBUTION_SERVER).startswith("8.")
"""Whether the distribution's engine, which tests use in addition to the newest one, is Valkey 8."""

_addresses: list[str] = []

ENGINE = EngineSettings(
    uid=1,
    cluster=True,
    admin_password=PASSWORD,
    client_passwords=[],
    default_user=True,
    memory=ShardMemory(0),
    eviction_policy="noeviction",
    appendonly=False,
    appendfsync_always=False,
    save=[],
    maxclients=1000,
)


def unused_loopback_address() -> str:
    """Return a loopback address (127/8) that no other test uses, so that ports never conflict with another test or run."""
    if not _addresses:
        network = claim_network()
        _addresses.extend(f"{network}.{number}" for number in range(1, 255))
    return _addresses.pop()


async def command_line(pid: int) -> list[str]:
    """Return the command line of a process that was just started. At first the kernel returns an empty one."""
    words: list[str] = await wait_until(psutil.Process(pid).cmdline)
    return words


class LocalNodes:
    """Nodes and their supervisors. Implements what `driver.cluster` needs of `ports.Agents`, without HTTP."""

    def __init__(self, root: Path, size: int) -> None:
        self.settings = {
            uid: AgentSettings(address=unused_loopback_address(), state_dir=root / f"node{uid}")
            for uid in range(1, size + 1)
        }
        self.nodes = [NodeRef(uid, settings.address, 9700) for uid, settings in self.settings.items()]
        self.supervisors = {uid: ShardSupervisor(settings) for uid, settings in self.settings.items()}
        self.root = root

    def __getitem__(self, uid: int) -> ShardSupervisor:
        return self.supervisors[uid]

    async def restart_agent(self, uid: int = 1, **changes: Any) -> ShardSupervisor:
        """Start a new supervisor on the state directory of a node, as a new agent process does. The old one is no longer used."""
        for shard in self.supervisors[uid].shards.values():
            shard.disconnect()
        self.supervisors[uid] = ShardSupervisor(replace(self.settings[uid], **changes))
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
        return [await self._execute(self[node.uid].shards[each.uid], each) for each in commands]

    async def _execute(self, shard: LocalShard, command: ShardCommand) -> CommandResult:
        try:
            return CommandResult(uid=command.uid, ok=True, reply=str(await execute_as_admin(shard, *command.argv)))
        except EngineError as error:
            return CommandResult(uid=command.uid, ok=False, reply=str(error))

    def engines(self) -> list[psutil.Process]:
        """Return all engine processes that run below this farm's directory, even if no supervisor manages them."""
        return find_engines(self.root)


@asynccontextmanager
async def local_nodes(root: Path, size: int = 1) -> AsyncIterator[LocalNodes]:
    """Create `size` empty nodes, numbered from 1. At the end of the block all their processes are killed."""
    nodes = LocalNodes(root, size)
    try:
        for supervisor in nodes.supervisors.values():
            await supervisor.adopt()
        yield nodes
    finally:
        for supervisor in nodes.supervisors.values():
            await supervisor.remove(list(supervisor.shards))
        kill_engines(root)


def find_engines(root: Path) -> list[psutil.Process]:
    engines = []
    for process in psutil.process_iter(["name"]):
        try:
            if process.info["name"] == "valkey-server" and Path(process.cwd()).is_relative_to(root.resolve()):
                engines.append(process)
        except psutil.Error:
            continue
    return engines


def kill_engines(root: Path) -> None:
    """Kill them, and wait until their ports are free."""
    processes = find_engines(root)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=30)


def has_exited(process: psutil.Process) -> bool:
    """Return whether a child process has ended. Its exit status stays readable for its parent.

    A process that is ending no longer has a directory, so `find_engines` misses it long before the parent is notified.
    """
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:  # its exit status has already been read
        return True


def standalone_shard(uid: int = 1, **changes: Any) -> ShardSpec:
    """Return the specification of a shard outside cluster mode."""
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


def start_request(*shards: ShardSpec, **changes: Any) -> StartShards:
    """Return a request to start these shards outside cluster mode. `changes` apply to the database."""
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


def plan_shards(nodes: Sequence[NodeRef], pairs: int, *, replication: bool, first_uid: int = 1) -> list[ShardRef]:
    """Return shards with primaries on the nodes in turn, and each replica on the following node."""
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


async def start_database(
    agents: LocalNodes, engine: EngineSettings, shards: Sequence[ShardRef], seconds: float = 60
) -> None:
    """Start the shards in the same steps as the loop that creates databases."""
    desired = [DesiredShard(shard.uid, shard.node.uid, shard.role, shard.pair) for shard in shards]
    async with asyncio.timeout(seconds):
        while True:
            step = next_step(desired, await valkey_cluster.read_conditions(agents, shards, cluster=engine.cluster))
            assert not step.failed, step.failed
            if step.done:
                return
            failures = await valkey_cluster.start(agents, engine, shards, step.start)
            assert not failures, failures
            await valkey_cluster.promote_initial_primaries(
                agents, [shard for shard in shards if shard.uid in step.promote]
            )
            await asyncio.sleep(0.02)


async def execute_as_admin(shard: LocalShard, *argv: str) -> Any:
    """Run one command as the admin user, and return the reply."""
    return await (await shard.connect()).execute(*argv)


async def wait_until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until `condition` (a function or a coroutine function) returns a true value, and return that value.

    A passing test never waits for the complete time limit, which only ends a hung test, however slow the machine is.
    """
    async with asyncio.timeout(seconds):
        while True:
            result = condition()
            if inspect.isawaitable(result):
                result = await result
            if result:
                return result
            await asyncio.sleep(0.01)


async def without_pulses(stream: AsyncIterator[Sample | None] | AsyncIterator[bytes]) -> AsyncIterator[Sample]:
    """Return the samples of a stream of the console's client or of the agent, without the pulses between them."""
    try:
        async for sample in stream:
            if isinstance(sample, Sample):
                yield sample
            elif sample is not None and sample.strip():
                yield Sample.model_validate_json(sample)
    finally:
        await stream.aclose()  # type: ignore[attr-defined]
