"""Application and lifecycle of the console: store, loops, HTTP servers. `run` contains startup and shutdown."""

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

from shardboard import __version__
from shardboard.actions import switch_back
from shardboard.api.access import (
    audit,
    ldap,
    ldap_mappings,
    logins,
    redis_acls,
    roles,
    service_tokens,
    sessions,
    sso,
    two_factor,
    users,
)
from shardboard.api.alerting import alerts, webhooks
from shardboard.api.alerting import events as logs
from shardboard.api.benchmarks import benchmark_reports, benchmark_runs
from shardboard.api.cluster import (
    actions,
    bootstrap,
    certificates,
    cluster,
    console_ca,
    join,
    json_schemas,
    license,  # noqa: A004 - name in the Redis Enterprise REST API
    node_actions,
    node_checks,
    nodes,
    support_bundle,
    unsupported_features,
    usage_report,
)
from shardboard.api.cluster import host_checks as host
from shardboard.api.databases import (
    bdb_commands,
    bdb_passwords,
    bdbs,
    engine_diagnostics,
    proxies,
    revamp,
    shards,
    traffic,
    upgrades,
)
from shardboard.api.failures import availability, drills, incidents, timeline
from shardboard.api.failures import failover as failovers
from shardboard.api.failures import shard_restart as restarts
from shardboard.api.http import audit_middleware, error_handlers, options
from shardboard.api.http.host_names import with_host_check
from shardboard.api.http.response_headers import install_response_headers as install_middleware
from shardboard.api.http.web_ui import mount_web_ui
from shardboard.api.metrics import (
    command_stats,
    hot_slots,
    latency_heatmap,
    metric_history,
    prometheus,
    ram_curve,
    stats,
)
from shardboard.api.placement import rebalance, shard_migration
from shardboard.api.stream import event_stream
from shardboard.api.stream.change_feed import Feed
from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.benchmarks.benchmark_runs import BenchmarkCollector
from shardboard.collectors.cluster.housekeeping import Housekeeping
from shardboard.collectors.cluster.nodes import NodeCollector
from shardboard.collectors.failures.failure_detection import NodeWatch
from shardboard.collectors.failures.first_writes import FirstWriteCollector
from shardboard.collectors.failures.resync import ResyncCollector
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.metrics.metric_history import Archive
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.driver.agents import HttpAgents
from shardboard.kit import gc_tuning, log_buffer
from shardboard.kit.bus import Bus
from shardboard.lifecycle.store_lock import lock_store
from shardboard.lifecycle.supervision import Loop, LoopSupervisor
from shardboard.net import http_server
from shardboard.pki.console_ca import ConsoleCa
from shardboard.reconcilers.access.acl_users import AccessLoop
from shardboard.reconcilers.benchmarks import benchmark_runs as benchmark_steps
from shardboard.reconcilers.cluster import node_actions as node_moves
from shardboard.reconcilers.cluster.agent_certificates import AgentCertificatesLoop
from shardboard.reconcilers.cluster.console_ca import ConsoleCaLoop
from shardboard.reconcilers.databases.bdbs import steppers
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.shard_certificates import CertificatesLoop
from shardboard.reconcilers.databases.unknown_nodes import UnknownNodesLoop
from shardboard.reconcilers.databases.unknown_shards import InventoryLoop
from shardboard.reconcilers.failures import drills as drill_steps
from shardboard.reconcilers.failures import failover, replica_ha, replica_recovery, stale_primaries
from shardboard.reconcilers.failures import shard_restart as restart
from shardboard.reconcilers.failures.elections import ElectionLoop
from shardboard.reconcilers.failures.epochs import EpochLoop
from shardboard.reconcilers.failures.failover import FailoverLoop
from shardboard.reconcilers.failures.hung_shards import HungShardLoop
from shardboard.reconcilers.failures.replica_ha import ReplicaHaLoop
from shardboard.reconcilers.failures.replica_recovery import ReplicaRecoveryLoop
from shardboard.reconcilers.failures.shard_restart import RestartLoop
from shardboard.reconcilers.failures.stale_primaries import StalePrimaryLoop
from shardboard.reconcilers.loop import ActionLoop, Stepper
from shardboard.reconcilers.placement import moves
from shardboard.reconcilers.placement import resharding as reshard
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.reconcilers.placement.switch_back import SwitchBackLoop
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster import encryption
from shardboard.settings import Settings
from shardboard.state.alerting import events
from shardboard.state.cluster import agent_certificates as issued_certificates
from shardboard.store.db import Store

PLAIN_HOST = "127.0.0.1"
"""Address of the plain HTTP port, unreachable from other machines."""


def create_app(console: Console) -> FastAPI:
    """Return the HTTP application: REST API, event stream and web UI."""
    app = FastAPI(
        title="Shardboard",
        version=__version__,
        docs_url=None,  # served by api/http/web_ui.py, with local scripts
        redoc_url=None,
        description="Management of sharded, replicated databases on Valkey Cluster, compatible with Redis Enterprise's REST API.",
    )
    app.state.console = console
    audit_middleware.install_audit_middleware(app)
    # Before the objects: otherwise `/nodes/stats` would be the node `stats`
    app.include_router(stats.router, prefix="/v1")
    for module in (
        unsupported_features,  # before the objects: otherwise `/bdbs/replica_sources/alerts` would be a database's alerts
        actions,
        alerts,  # before the objects: otherwise `/bdbs/alerts` would be the database `alerts`
        support_bundle,  # before the objects: otherwise `/bdbs/debuginfo` would be the database `debuginfo`
        audit,
        bdb_commands,
        bdb_passwords,  # before the objects: otherwise `/bdbs/{uid}/passwords` would be an action
        bdbs,
        benchmark_reports,  # before the objects: otherwise `/benchmarks/compare` would be the run `compare`
        benchmark_runs,
        bootstrap,
        certificates,
        console_ca,
        node_checks,  # before the objects: otherwise `/nodes/check` would be the node `check`
        cluster,
        command_stats,
        drills,
        failovers,
        metric_history,
        host,
        incidents,
        join,
        json_schemas,
        latency_heatmap,
        ldap,
        ldap_mappings,
        license,
        logs,
        shard_migration,
        node_actions,  # before the objects: otherwise `/nodes/actions` would be the node `actions`
        nodes,
        proxies,
        ram_curve,
        rebalance,
        restarts,
        revamp,
        service_tokens,
        logins,
        sessions,
        engine_diagnostics,
        shards,
        hot_slots,
        sso,
        event_stream,
        timeline,
        traffic,
        upgrades,
        usage_report,
        redis_acls,
        roles,
        two_factor,  # before the users: otherwise `/users/second_factor` would be a user
        users,
        webhooks,
    ):
        app.include_router(module.router, prefix="/v1")
    app.include_router(actions.router_v2, prefix="/v2")
    app.include_router(availability.router)  # contains paths of several API versions
    app.include_router(options.router)
    app.include_router(prometheus.router)
    mount_web_ui(app, console.settings.page_dir)
    error_handlers.install_error_handlers(app)
    install_middleware(app)
    return app


@asynccontextmanager
async def open_console(settings: Settings) -> AsyncIterator[tuple[Console, str | None]]:
    """Yield a console with a migrated store and a first administrator, and the administrator's password if it was generated."""
    instance = lock_state_dir(settings.state_dir)
    bus = Bus()
    store = Store(settings.store_url, bus)
    authority = ConsoleCa.load(settings)
    agents = HttpAgents(authority.client_ssl_context)
    try:
        async with lock_store(store) as ownership:
            await store.migrate()
            async with store.read() as looking:
                keys = await encryption.load_or_create_keys(looking, settings)
            store.set_keys(keys)
            async with store.begin() as opening:
                await encryption.encrypt_outdated(opening, keys)
                password = await first_start(opening, settings)
            async with store.read() as reading:
                store.state_id = await events.newest_uid(reading)
                authority.reject_certificates(await issued_certificates.revoked_serials(reading))
            yield Console(settings, store, bus, LiveMetrics(bus), agents, authority, instance, ownership), password
    finally:
        await agents.close()
        await store.close()


def lock_state_dir(directory: Path) -> str:
    """Lock the state directory and return the console's persistent name. Raises ValueError while another process holds the lock.

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
    """Return the steppers of all kinds of actions, by name."""
    return {
        **steppers(console.store, console.agents, endpoints),
        failover.ACTION_NAME: failover.Failover(console.store, console.agents, console.live.last_offset),
        failover.REQUESTED_FAILOVER: failover.RequestedFailover(
            console.store, console.agents, console.live.last_offset
        ),
        stale_primaries.ACTION_NAME: stale_primaries.DemoteStalePrimaries(console.store, console.agents),
        replica_recovery.ACTION_NAME: replica_recovery.RecoverReplicas(console.store, console.agents),
        moves.MIGRATE: moves.MoveShards(console.store, console.agents),
        moves.UPGRADE: moves.MoveShards(console.store, console.agents),
        moves.REBALANCE: moves.MoveShards(console.store, console.agents),
        replica_ha.ACTION_NAME: moves.MoveShards(console.store, console.agents),
        switch_back.ACTION_NAME: moves.MoveShards(console.store, console.agents),
        **node_moves.steppers(console.store, console.agents),
        reshard.ACTION_NAME: reshard.Reshard(console.store, console.agents),
        restart.ACTION_NAME: restart.Restart(console.store, console.agents),
        benchmark_steps.ACTION_NAME: benchmark_steps.RunBenchmark(console.store, console.agents),
        drill_steps.ACTION_NAME: drill_steps.DrillStepper(console.store, console.agents),
    }


@asynccontextmanager
async def running_loops(console: Console) -> AsyncIterator[asyncio.Future[None]]:
    """Run all loops. The yielded future only completes if a vital loop fails repeatedly, with its exception."""
    pulses = Pulses()
    archive = Archive(console.store, console.bus, console.live)
    endpoints = Endpoints(console.store, console.bus, console.agents)
    inventory = InventoryLoop(console.store, console.bus, console.agents)
    await archive.restore()
    await inventory.read_at_startup()
    actions = ActionLoop(console.store, console.bus, _steppers(console, endpoints), console.instance)
    nodes = NodeCollector(console.store, console.bus, console.agents, console.live, pulses)
    agent_certificates = AgentCertificatesLoop(console.store, console.bus, console.agents, console.ca)
    authorities = ConsoleCaLoop(console.store, console.bus, console.ca, console.trust)
    alarms = AlarmCollector(
        console.store, console.bus, console.live, pulses, console.agents, lambda: console.certificate.expiries
    )
    loops = (
        Loop("hold the store lock", console.store_lock.run, vital=True),
        Loop("collect samples from nodes", nodes.run, vital=True),
        Loop("watch nodes", NodeWatch(console.store, console.agents, pulses).run, vital=True),
        Loop("schedule failovers", FailoverLoop(console.store, console.bus).run, vital=True),
        Loop("run actions", actions.run, vital=True),
        Loop("aggregate samples", console.live.run),
        Loop("store samples", archive.run),
        Loop("delete old data", Housekeeping(console.store).run),
        Loop("return free memory", gc_tuning.return_free_memory),
        Loop("track resyncs", ResyncCollector(console.store, console.bus, console.agents).run),
        Loop("evaluate alarms", alarms.run),
        Loop("send notifications", console.notifier.run),
        Loop("collect benchmarks", BenchmarkCollector(console.store, console.bus, console.agents).run),
        Loop("record first writes", FirstWriteCollector(console.store, console.bus, console.live).run),
        Loop("update proxies", endpoints.run),
        Loop("update users on shards", AccessLoop(console.store, console.bus, console.agents).run),
        Loop("renew the console's certificate", console.certificate.run),
        Loop("renew agent certificates", agent_certificates.run),
        Loop("reject certificates of removed nodes", agent_certificates.run_rejections),
        Loop("send trusted CAs to agents", authorities.run),
        Loop("renew shard certificates", CertificatesLoop(console.store, console.bus, console.agents, endpoints).run),
        Loop("record elections", ElectionLoop(console.store, console.bus).run),
        Loop("remove unknown nodes", UnknownNodesLoop(console.store, console.bus, console.agents).run),
        Loop("watch epochs", EpochLoop(console.store, console.agents).run),
        Loop("kill hung shards", HungShardLoop(console.store, console.bus, console.agents).run),
        Loop("recover replicas", ReplicaRecoveryLoop(console.store, console.bus).run),
        Loop("restart primaries", RestartLoop(console.store, console.bus).run),
        Loop("demote stale primaries", StalePrimaryLoop(console.store, console.bus).run),
        Loop("rebuild lost replicas", ReplicaHaLoop(console.store, console.bus).run),
        Loop("switch back to primaries", SwitchBackLoop(console.store, console.bus).run),
        Loop("remove shards", RemovalLoop(console.store, console.bus, console.agents).run),
        Loop("compare shards with the store", inventory.run),
        Loop("send events to browsers", Feed(console).run),
    )
    async with LoopSupervisor(console.store, loops).running() as failed:
        yield failed


async def run(settings: Settings) -> None:
    """Run until a stop signal, or until a vital loop fails permanently: a console without it must not appear to work."""
    async with open_console(settings) as (console, password), running_loops(console) as failed:
        _print_welcome(console, password)
        configs = servers(console, create_app(console))
        gc_tuning.freeze_objects()
        await http_server.serve(configs, stopping=lambda: console.bus.publish("closing"), watch=failed)


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
        http_server.config(
            with_host_check(served, console, host), host, port, proxies=settings.trusted_proxies, **options
        )
        for served, host, port, options in listeners
    ]


def _print_welcome(console: Console, password: str | None) -> None:
    settings = console.settings
    shown = " (self-signed certificate)" if console.certificate.source == "own" else ""
    lines = [f"Shardboard {__version__}: https://localhost:{settings.https_port}{shown}"]
    if settings.http_port:
        lines.append(f"On this machine also http://localhost:{settings.http_port}")
    if password is not None:
        lines.append(f"User {settings.admin_user}, password {password} (printed only once)")
    print("\n".join(lines), file=sys.stderr, flush=True)


def run_console(settings: Settings) -> int:
    """Run the `shardboard console` command. Return its exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s console %(levelname)s %(name)s %(message)s")
    log_buffer.install()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    asyncio.run(run(settings))
    return 0
