"""Builds the console and runs it: store, loops, HTTP servers. Startup and shutdown are readable in `run`."""

import asyncio
import fcntl
import logging
import os
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from shardboard import __version__, garbage, recent_log, serving
from shardboard.api import (
    absent,
    actions,
    alerts,
    audit,
    audited,
    availability,
    bdb_commands,
    bdb_passwords,
    bdbs,
    benchmark_reports,
    benchmarks,
    bootstrap,
    certificates,
    checks,
    cluster,
    commands,
    console_authority,
    debuginfo,
    drills,
    errors,
    failovers,
    history,
    host,
    incidents,
    join,
    jsonschemas,
    latency,
    ldap,
    ldap_mappings,
    license,  # noqa: A004 - the noun of the REST reference
    logs,
    migrations,
    node_actions,
    nodes,
    options,
    prometheus,
    proxies,
    ram_curve,
    rebalance,
    redis_acls,
    restarts,
    revamps,
    roles,
    second_factor,
    service_tokens,
    session,
    sessions,
    shard_looks,
    shards,
    slots,
    sso,
    stats,
    stream,
    timeline,
    traffic,
    upgrades,
    usage_report,
    users,
    webhooks,
)
from shardboard.api.feed import Feed
from shardboard.api.host_names import protected
from shardboard.api.middleware import install as install_middleware
from shardboard.api.page import mount_page
from shardboard.authority import Authority
from shardboard.bus import Bus
from shardboard.collectors.alarms import AlarmCollector
from shardboard.collectors.archive import Archive
from shardboard.collectors.benchmarks import BenchmarkCollector
from shardboard.collectors.first_writes import FirstWrites
from shardboard.collectors.housekeeping import Housekeeping
from shardboard.collectors.live import Live
from shardboard.collectors.nodes import NodeCollector
from shardboard.collectors.pulse import Pulses
from shardboard.collectors.resyncs import ResyncCollector
from shardboard.collectors.watch import NodeWatch
from shardboard.console import Console
from shardboard.db import Store
from shardboard.driver.agents import HttpAgents
from shardboard.orders import primaries_return
from shardboard.ownership import owned
from shardboard.reconcilers import benchmarks as benchmark_steps
from shardboard.reconcilers import drills as drill_steps
from shardboard.reconcilers import failover, replica_ha, restart, revival, stale_primaries
from shardboard.reconcilers.access import AccessLoop
from shardboard.reconcilers.agent_certificates import AgentCertificatesLoop
from shardboard.reconcilers.bdbs import steppers
from shardboard.reconcilers.certificates import CertificatesLoop
from shardboard.reconcilers.console_authority import ConsoleAuthorityLoop
from shardboard.reconcilers.elections import ElectionLoop
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.reconcilers.epochs import EpochLoop
from shardboard.reconcilers.failover import FailoverLoop
from shardboard.reconcilers.hung import HungLoop
from shardboard.reconcilers.inventory import InventoryLoop
from shardboard.reconcilers.loop import ActionLoop, Stepper
from shardboard.reconcilers.movement import moves
from shardboard.reconcilers.movement import nodes as node_moves
from shardboard.reconcilers.primaries_return import PrimariesReturnLoop
from shardboard.reconcilers.removal import RemovalLoop
from shardboard.reconcilers.replica_ha import ReplicaHaLoop
from shardboard.reconcilers.reshard import action as reshard
from shardboard.reconcilers.restart import RestartLoop
from shardboard.reconcilers.revival import RevivalLoop
from shardboard.reconcilers.stale_primaries import StalePrimaryLoop
from shardboard.reconcilers.unknown_nodes import UnknownNodesLoop
from shardboard.services import encryption
from shardboard.services.users import first_start
from shardboard.settings import Settings
from shardboard.state import events, issued_certificates
from shardboard.supervision import Loop, Supervisor

PLAIN_HOST = "127.0.0.1"
"""Address of the plain HTTP port: other machines cannot reach it."""


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
    audited.install(app)
    app.include_router(stats.router, prefix="/v1")  # before the objects: `/nodes/stats` would else be the node `stats`
    for module in (
        absent,  # before the objects: `/bdbs/replica_sources/alerts` would else be of a database
        actions,
        alerts,  # before the objects: `/bdbs/alerts` would else be the database `alerts`
        debuginfo,  # before the objects: `/bdbs/debuginfo` would else be the database `debuginfo`
        audit,
        bdb_commands,
        bdb_passwords,  # before the objects: `/bdbs/{uid}/passwords` would else be an action
        bdbs,
        benchmark_reports,  # before the objects: `/benchmarks/compare` would else be the run `compare`
        benchmarks,
        bootstrap,
        certificates,
        console_authority,
        checks,  # before the objects: `/nodes/check` would else be the node `check`
        cluster,
        commands,
        drills,
        failovers,
        history,
        host,
        incidents,
        join,
        jsonschemas,
        latency,
        ldap,
        ldap_mappings,
        license,
        logs,
        migrations,
        node_actions,  # before the objects: `/nodes/actions` would else be the node `actions`
        nodes,
        proxies,
        ram_curve,
        rebalance,
        restarts,
        revamps,
        service_tokens,
        session,
        sessions,
        shard_looks,
        shards,
        slots,
        sso,
        stream,
        timeline,
        traffic,
        upgrades,
        usage_report,
        redis_acls,
        roles,
        second_factor,  # before the users: `/users/second_factor` would else be one
        users,
        webhooks,
    ):
        app.include_router(module.router, prefix="/v1")
    app.include_router(actions.router_v2, prefix="/v2")
    app.include_router(availability.router)  # of several versions
    app.include_router(options.router)
    app.include_router(prometheus.router)
    mount_page(app, console.settings.page_dir)
    errors.install(app)
    install_middleware(app)
    return app


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[Console, str | None]]:
    """A console with its store migrated and the first administrator made; also the password if one was generated."""
    instance = own_state_dir(settings.state_dir)
    bus = Bus()
    store = Store(settings.store_url, bus)
    authority = Authority.load(settings)
    agents = HttpAgents(authority.client_ssl_context)
    try:
        async with owned(store) as ownership:
            await store.migrate()
            async with store.read() as looking:
                keys = await encryption.keys_of_console(looking, settings)
            store.use(keys)
            async with store.begin() as opening:
                await encryption.bring_up_to_date(opening, keys)
                password = await first_start(opening, settings)
            async with store.read() as reading:
                store.state_id = await events.newest_uid(reading)
                authority.refuse(await issued_certificates.refused(reading))
            yield Console(settings, store, bus, Live(bus), agents, authority, instance, ownership), password
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
        stale_primaries.NAME: stale_primaries.Demote(console.store, console.agents),
        revival.NAME: revival.Revive(console.store, console.agents),
        moves.MIGRATE: moves.Relocate(console.store, console.agents),
        moves.UPGRADE: moves.Relocate(console.store, console.agents),
        moves.REBALANCE: moves.Relocate(console.store, console.agents),
        replica_ha.NAME: moves.Relocate(console.store, console.agents),
        primaries_return.NAME: moves.Relocate(console.store, console.agents),
        **node_moves.steppers(console.store, console.agents),
        reshard.NAME: reshard.Reshard(console.store, console.agents),
        restart.NAME: restart.Restart(console.store, console.agents),
        benchmark_steps.NAME: benchmark_steps.Run(console.store, console.agents),
        drill_steps.NAME: drill_steps.DrillStepper(console.store, console.agents),
    }


@asynccontextmanager
async def running_loops(console: Console) -> AsyncIterator[asyncio.Future[None]]:
    """All loops. The future ends only when a vital one fails again and again, with its exception."""
    pulses = Pulses()
    archive = Archive(console.store, console.bus, console.live)
    endpoints = Endpoints(console.store, console.bus, console.agents)
    inventory = InventoryLoop(console.store, console.bus, console.agents)
    await archive.restore()
    await inventory.read_at_startup()
    actions = ActionLoop(console.store, console.bus, _steppers(console, endpoints), console.instance)
    nodes = NodeCollector(console.store, console.bus, console.agents, console.live, pulses)
    agent_certificates = AgentCertificatesLoop(console.store, console.bus, console.agents, console.authority)
    authorities = ConsoleAuthorityLoop(console.store, console.bus, console.authority, console.trust)
    alarms = AlarmCollector(
        console.store, console.bus, console.live, pulses, console.agents, lambda: console.certificate.ends
    )
    loops = (
        Loop("keep the store to this console", console.ownership.run, vital=True),
        Loop("follow the nodes", nodes.run, vital=True),
        Loop("watch over the nodes", NodeWatch(console.store, console.agents, pulses).run, vital=True),
        Loop("order failovers", FailoverLoop(console.store, console.bus).run, vital=True),
        Loop("carry out actions", actions.run, vital=True),
        Loop("put seconds together", console.live.run),
        Loop("store samples", archive.run),
        Loop("keep house", Housekeeping(console.store).run),
        Loop("follow resyncs", ResyncCollector(console.store, console.bus, console.agents).run),
        Loop("look for alarms", alarms.run),
        Loop("tell webhooks", console.notifier.run),
        Loop("collect benchmarks", BenchmarkCollector(console.store, console.bus, console.agents).run),
        Loop("note first writes", FirstWrites(console.store, console.bus, console.live).run),
        Loop("tell the proxies", endpoints.run),
        Loop("bring users to shards", AccessLoop(console.store, console.bus, console.agents).run),
        Loop("renew the console's certificate", console.certificate.run),
        Loop("renew certificates of agents", agent_certificates.run),
        Loop("refuse certificates of removed nodes", agent_certificates.run_refusals),
        Loop("tell agents whom to trust", authorities.run),
        Loop(
            "renew certificates of shards", CertificatesLoop(console.store, console.bus, console.agents, endpoints).run
        ),
        Loop("take over elections", ElectionLoop(console.store, console.bus).run),
        Loop("expel unknown nodes", UnknownNodesLoop(console.store, console.bus, console.agents).run),
        Loop("watch over epochs", EpochLoop(console.store, console.agents).run),
        Loop("end hung shards", HungLoop(console.store, console.bus, console.agents).run),
        Loop("revive replicas", RevivalLoop(console.store, console.bus).run),
        Loop("restart primaries", RestartLoop(console.store, console.bus).run),
        Loop("demote stale primaries", StalePrimaryLoop(console.store, console.bus).run),
        Loop("replace lost replicas", ReplicaHaLoop(console.store, console.bus).run),
        Loop("return primaries", PrimariesReturnLoop(console.store, console.bus).run),
        Loop("remove shards", RemovalLoop(console.store, console.bus, console.agents).run),
        Loop("compare shards with the store", inventory.run),
        Loop("tell browsers", Feed(console).run),
    )
    async with Supervisor(console.store, loops).running() as failed:
        yield failed


async def run(settings: Settings) -> None:
    """Until told to stop, or until a vital loop fails for good: a console that looks alive but does nothing helps nobody."""
    async with opened(settings) as (console, password), running_loops(console) as failed:
        _greet(console, password)
        configs = servers(console, create_app(console))
        garbage.settle()
        await serving.serve(configs, stopping=lambda: console.bus.publish("closing"), watch=failed)


def servers(console: Console, app: FastAPI) -> list[uvicorn.Config]:
    """Return the console's servers: HTTPS, plain HTTP for programs and reverse proxies on this machine, and metrics."""
    settings = console.settings
    tls = {"ssl_context_factory": lambda *_: console.certificate.context}
    listeners: list[tuple[FastAPI, str, int, dict[str, Any]]] = [(app, settings.https_host, settings.https_port, tls)]
    if settings.http_port:
        listeners.append((app, PLAIN_HOST, settings.http_port, {}))
    if settings.metrics_port:
        listeners.append((prometheus.create_app(console), settings.https_host, settings.metrics_port, tls))
    return [
        serving.config(protected(served, console, host), host, port, proxies=settings.trusted_proxies, **options)
        for served, host, port, options in listeners
    ]


def _greet(console: Console, password: str | None) -> None:
    settings = console.settings
    shown = " (self-signed certificate)" if console.certificate.source == "own" else ""
    lines = [f"Shardboard {__version__}: https://localhost:{settings.https_port}{shown}"]
    if settings.http_port:
        lines.append(f"On this machine also http://localhost:{settings.http_port}")
    if password is not None:
        lines.append(f"User {settings.admin_user}, password {password} (printed only this once)")
    print("\n".join(lines), file=sys.stderr, flush=True)


def run_console(settings: Settings) -> int:
    """The `shardboard console` command. Returns its exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s console %(levelname)s %(name)s %(message)s")
    recent_log.keep()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    asyncio.run(run(settings))
    return 0
