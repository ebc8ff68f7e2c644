"""Builds the console and runs it: store, loops, HTTP servers. Startup and shutdown are readable in `run`."""

import asyncio
import fcntl
import logging
import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from shardboard import __version__, serving
from shardboard.api import (
    actions,
    bdbs,
    bootstrap,
    cluster,
    drills,
    errors,
    failovers,
    history,
    join,
    latency,
    license,  # noqa: A004 - the noun of the REST reference
    logs,
    migrations,
    node_actions,
    nodes,
    options,
    prometheus,
    proxies,
    rebalance,
    restarts,
    revamps,
    session,
    shards,
    stats,
    stream,
    timeline,
    users,
)
from shardboard.api.feed import Feed
from shardboard.api.middleware import install as install_middleware
from shardboard.api.page import mount_page
from shardboard.bus import Bus
from shardboard.collectors.alarms import AlarmCollector
from shardboard.collectors.archive import Archive
from shardboard.collectors.first_writes import FirstWrites
from shardboard.collectors.housekeeping import Housekeeping
from shardboard.collectors.live import Live
from shardboard.collectors.nodes import NodeCollector
from shardboard.collectors.pulse import Pulses
from shardboard.collectors.resyncs import ResyncCollector
from shardboard.collectors.watch import NodeWatch
from shardboard.console import Console
from shardboard.db import AWAY, Store
from shardboard.driver.agents import HttpAgents
from shardboard.reconcilers import drills as drill_steps
from shardboard.reconcilers import (
    failover,
    homecoming,
    moves,
    node_moves,
    replica_ha,
    reshard,
    restart,
    revival,
    rivals,
)
from shardboard.reconcilers.bdbs import steppers
from shardboard.reconcilers.elections import ElectionLoop
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.reconcilers.failover import FailoverLoop
from shardboard.reconcilers.homecoming import HomecomingLoop
from shardboard.reconcilers.loop import ActionLoop, Stepper
from shardboard.reconcilers.orphans import OrphanLoop
from shardboard.reconcilers.removal import RemovalLoop
from shardboard.reconcilers.replica_ha import ReplicaHaLoop
from shardboard.reconcilers.restart import RestartLoop
from shardboard.reconcilers.revival import RevivalLoop
from shardboard.reconcilers.rivals import RivalLoop
from shardboard.services.users import first_start
from shardboard.settings import Settings
from shardboard.state import events
from shardboard.tls import Authority

log = logging.getLogger(__name__)


def create_app(console: Console) -> FastAPI:
    """The HTTP side: REST, stream and page."""
    app = FastAPI(
        title="Shardboard",
        version=__version__,
        docs_url=None,  # served by api/page.py, with scripts of our own
        redoc_url=None,
        description="Management of sharded, replicated databases on Valkey Cluster, compatible with Redis Enterprise's REST API.",
    )
    app.state.console = console
    app.include_router(stats.router, prefix="/v1")  # before the objects: `/nodes/stats` would else be the node `stats`
    for module in (
        actions,
        bdbs,
        bootstrap,
        cluster,
        drills,
        failovers,
        history,
        join,
        latency,
        license,
        logs,
        migrations,
        node_actions,  # before the objects: `/nodes/actions` would else be the node `actions`
        nodes,
        proxies,
        rebalance,
        restarts,
        revamps,
        session,
        shards,
        stream,
        timeline,
        users,
    ):
        app.include_router(module.router, prefix="/v1")
    app.include_router(actions.router_v2, prefix="/v2")
    app.include_router(options.router)
    app.include_router(prometheus.router)
    mount_page(app, console.settings.page_dir)
    errors.install(app)
    install_middleware(app, console)
    return app


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[Console, str | None]]:
    """A console with its store migrated and the first administrator made; also the password if one was generated."""
    instance = own_state_dir(settings.state_dir)
    bus = Bus()
    store = Store(settings.store_url, bus)
    authority = Authority.load(settings)
    agents = HttpAgents(authority.client_ssl_context())
    try:
        await store.migrate()
        async with store.begin() as opening:
            password = await first_start(opening, settings)
        async with store.read() as reading:
            store.state_id = await events.newest_uid(reading)
        yield Console(settings, store, bus, Live(bus), agents, authority, instance), password
    finally:
        await agents.close()
        await store.close()


def own_state_dir(directory: Path) -> str:
    """The name of the console that lives in `directory`, kept across its restarts. Raises ValueError while another process runs it.

    The lock is held until this process ends, however it ends.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory / "instance", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ValueError(f"Another console is running in {directory}.") from None
    name = os.read(descriptor, 64).decode()
    if not name:
        name = uuid.uuid4().hex
        os.write(descriptor, name.encode())
    return name


def _steppers(console: Console, endpoints: Endpoints) -> dict[str, Stepper]:
    """Every kind of action that this console knows how to carry out."""
    return {
        **steppers(console.store, console.agents, endpoints),
        failover.NAME: failover.Failover(console.store, console.agents, console.live.last_offset),
        failover.HANDOVER: failover.Handover(console.store, console.agents, console.live.last_offset),
        rivals.NAME: rivals.Demote(console.store, console.agents),
        revival.NAME: revival.Revive(console.store, console.agents),
        moves.MIGRATE: moves.Relocate(console.store, console.agents),
        moves.REBALANCE: moves.Relocate(console.store, console.agents),
        replica_ha.NAME: moves.Relocate(console.store, console.agents),
        homecoming.NAME: moves.Relocate(console.store, console.agents),
        **node_moves.steppers(console.store, console.agents),
        reshard.NAME: reshard.Reshard(console.store, console.agents),
        restart.NAME: restart.Restart(console.store, console.agents),
        drill_steps.NAME: drill_steps.DrillStepper(console.store, console.agents),
    }


@asynccontextmanager
async def running_loops(console: Console) -> AsyncIterator[asyncio.Future[None]]:
    """All loops. The future ends only when one of them fails, with its exception."""
    pulses = Pulses()
    archive = Archive(console.store, console.bus, console.live)
    endpoints = Endpoints(console.store, console.bus, console.agents)
    await archive.restore()
    loops = (
        console.live.run,
        archive.run,
        Housekeeping(console.store).run,
        NodeCollector(console.store, console.bus, console.agents, console.live, pulses).run,
        NodeWatch(console.store, console.agents, pulses).run,
        ResyncCollector(console.store, console.bus, console.agents).run,
        AlarmCollector(console.store, console.bus, console.live, pulses).run,
        FirstWrites(console.store, console.bus, console.live).run,
        ActionLoop(console.store, console.bus, _steppers(console, endpoints), console.instance).run,
        endpoints.run,
        FailoverLoop(console.store, console.bus).run,
        ElectionLoop(console.store, console.bus).run,
        RevivalLoop(console.store, console.bus).run,
        RestartLoop(console.store, console.bus).run,
        RivalLoop(console.store, console.bus).run,
        ReplicaHaLoop(console.store, console.bus).run,
        HomecomingLoop(console.store, console.bus).run,
        RemovalLoop(console.store, console.bus, console.agents).run,
        OrphanLoop(console.store, console.agents).run,
        Feed(console).run,
    )
    tasks = [asyncio.create_task(_kept_running(loop)) for loop in loops]
    failed: asyncio.Future[None] = asyncio.ensure_future(_first(tasks))
    try:
        yield failed
    finally:
        for task in (failed, *tasks):
            task.cancel()
        await asyncio.gather(failed, *tasks, return_exceptions=True)


async def _kept_running(run: Callable[[], Awaitable[None]]) -> None:
    """A store that is away for a moment (a restart of PostgreSQL, a full disk) ends no loop."""
    while True:
        try:
            await run()
        except AWAY:
            log.exception("a loop lost the store; it starts again")
            await asyncio.sleep(1.0)
        else:
            return


async def _first(tasks: list[asyncio.Task[None]]) -> None:
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def run(settings: Settings) -> None:
    """Until told to stop, or until a loop fails: a console that looks alive but does nothing helps nobody."""
    async with opened(settings) as (console, password), running_loops(console) as failed:
        _greet(settings, password)
        app = create_app(console)
        certificate, key = console.authority.server_context_files()
        tls = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
        configs = [serving.config(app, settings.https_host, settings.https_port, **tls)]
        if settings.http_port:
            configs.append(serving.config(app, "127.0.0.1", settings.http_port))
        if settings.metrics_port:
            metrics = prometheus.create_app(console)
            configs.append(serving.config(metrics, settings.https_host, settings.metrics_port, **tls))
        await serving.serve(configs, stopping=lambda: console.bus.publish("closing"), watch=failed)


def _greet(settings: Settings, password: str | None) -> None:
    lines = [f"Shardboard {__version__}: https://localhost:{settings.https_port} (self-signed certificate)"]
    if settings.http_port:
        lines.append(f"On this machine also http://localhost:{settings.http_port}")
    if password is not None:
        lines.append(f"User {settings.admin_user}, password {password} (printed only this once)")
    print("\n".join(lines), file=sys.stderr, flush=True)


def run_console(settings: Settings) -> int:
    """The `shardboard console` command. Returns its exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s console %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    asyncio.run(run(settings))
    return 0
