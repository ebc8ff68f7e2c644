"""Application and lifecycle of the console: store, loops, HTTP servers. `run` contains startup and shutdown."""

import asyncio
import fcntl
import logging
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI

from shardboard import __version__
from shardboard.api import access, alerting, benchmarks, cluster, data, databases, failures, metrics, placement, stream
from shardboard.api.http import audit_middleware, error_handlers, options
from shardboard.api.http.idempotency import check_key_support, install_replays
from shardboard.api.http.middleware.head_requests import HeadMiddleware
from shardboard.api.http.middleware.host_names import with_host_check
from shardboard.api.http.middleware.response_headers import install_response_headers
from shardboard.api.http.object_versions import check_match_support
from shardboard.api.http.openapi.document import install_openapi
from shardboard.api.http.query_check import check_query
from shardboard.api.http.route_order import merge_routers
from shardboard.api.http.web_ui import mount_web_ui
from shardboard.api.metrics import prometheus
from shardboard.api.stream.change_feed import Feed
from shardboard.collectors import registry as collectors
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.metrics.metric_history import restore_samples
from shardboard.console import Console
from shardboard.driver.agents import HttpAgents
from shardboard.kit import gc_tuning, log_buffer
from shardboard.kit.active_clock import ACTIVE
from shardboard.kit.bus import Bus
from shardboard.lifecycle import shutdown
from shardboard.lifecycle.leadership import Leadership
from shardboard.lifecycle.supervision import Loop, LoopSupervisor
from shardboard.net import http_server
from shardboard.net.connection_limits import LOOPBACK
from shardboard.pki.console_ca import ConsoleCa
from shardboard.reconcilers import registry as reconcilers
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster import console_certificates, encryption
from shardboard.services.loop_requests import LoopRequests
from shardboard.settings import Settings
from shardboard.state.alerting import events
from shardboard.state.cluster import agent_certificates
from shardboard.store.change_receiver import ChangeReceiver
from shardboard.store.db import Store

AREAS = (access, alerting, benchmarks, cluster, data, databases, failures, metrics, placement, stream)
"""Packages of endpoints. Each lists its routers in `ROUTERS`."""


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
    routers = (router for area in AREAS for router in area.ROUTERS)
    checks = [Depends(check) for check in (check_query, check_key_support, check_match_support)]
    api = merge_routers(routers)
    app.include_router(api, dependencies=checks)
    install_openapi(app, api.routes)
    app.include_router(options.router)
    mount_web_ui(app, console.settings.web_ui_dir)
    error_handlers.install_error_handlers(app)
    install_replays(app)
    install_response_headers(app)
    app.add_middleware(HeadMiddleware)
    return app


@asynccontextmanager
async def open_console(settings: Settings) -> AsyncIterator[tuple[Console, str | None]]:
    """Yield a console with a migrated store and a first administrator, and the administrator's password if it was generated."""
    console_id = lock_state_dir(settings.state_dir)
    bus = Bus()
    store = Store(settings.store_url, bus, console_id=console_id)
    leadership = Leadership(store, console_id)
    try:
        await store.check()
        async with leadership.participating():
            password = await _prepare_store(store, settings)
            ca = ConsoleCa(await console_certificates.load_or_create(store, settings.state_dir / "tls"), settings)
            async with store.read() as session:
                store.state_id = await events.newest_uid(session)
                ca.reject_certificates(await agent_certificates.revoked_serials(session))
            await leadership.share()
            agents = HttpAgents(ca.client_ssl_context, leadership)
            try:
                yield Console(settings, store, bus, LiveMetrics(bus), agents, ca, console_id, leadership), password
            finally:
                await agents.close()
    finally:
        await store.close()


async def _prepare_store(store: Store, settings: Settings) -> str | None:
    """Migrate and encrypt the store. Return the administrator's password if it was generated. A console of an earlier release, or
    without the key of the store, changes nothing. Raises ValueError.
    """
    await store.check_release()
    async with store.read() as session:
        keys = await encryption.load_or_create_keys(session, settings)
    await store.migrate()
    store.set_keys(keys)
    async with store.begin() as session:
        await encryption.encrypt_outdated(session, keys)
        return await first_start(session, settings)


def lock_state_dir(directory: Path) -> str:
    """Lock the state directory and return the persistent id of the console. Raises ValueError while another process holds the lock.

    The lock is held until this process ends, however it ends.
    """
    return _lock(directory)[0]


@contextmanager
def locked_state_dir(directory: Path) -> Iterator[str]:
    """Like `lock_state_dir`, but hold the lock only during the block."""
    console_id, descriptor = _lock(directory)
    try:
        yield console_id
    finally:
        os.close(descriptor)


def _lock(directory: Path) -> tuple[str, int]:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory / "instance", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ValueError(f"Another console is running in {directory}.") from None
    console_id = os.read(descriptor, 64).decode()
    if not console_id:
        console_id = uuid.uuid4().hex
        os.write(descriptor, console_id.encode())
        if os.geteuid() == 0:  # a command for an administrator; the console runs as the owner of the directory
            owner = directory.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return console_id, descriptor


@asynccontextmanager
async def running_loops(console: Console) -> AsyncIterator[asyncio.Future[None]]:
    """Run all loops, and wait until it is known which console leads. The yielded future only completes if a vital loop fails
    repeatedly, with its exception.
    """
    store, bus, agents, live, leadership = console.store, console.bus, console.agents, console.live, console.leadership
    pulses, presence = console.pulses, console.presence
    await restore_samples(store, live)

    @asynccontextmanager
    async def leader_loops() -> AsyncIterator[asyncio.Future[None]]:
        if not leadership.is_settled:  # requests are not accepted yet
            await reconcilers.read_shards(store, bus, agents)
        loops = (
            *collectors.leader_loops(
                store,
                bus,
                agents,
                live,
                pulses,
                console.notifier,
                lambda: console.certificate.expiries,
                console.id,
                console.settings.state_dir,
                leadership.hand_over,
            ),
            *reconcilers.leader_loops(
                store,
                bus,
                agents,
                console.ca,
                console.trust,
                live.last_offset,
                pulses.seconds_since_gap,
                LoopRequests(),
                console.id,
            ),
        )
        async with LoopSupervisor(store, loops).running() as failure:
            yield failure

    def after_election(loop: Loop) -> Loop:
        """Return the loop, started when it is known which console leads, so that it does not delay this."""

        async def run() -> None:
            await leadership.settled()
            await loop.run()

        return replace(loop, run=run)

    shared = (
        *collectors.shared_loops(store, bus, agents, live, pulses, leadership.acting, presence),
        *reconcilers.shared_loops(store, bus, agents, console.ca),
        Loop("return free memory", gc_tuning.return_free_memory),
        Loop("follow and renew certificates", console.certificate_loop.run),
        Loop("receive changes of other consoles", ChangeReceiver(store, events.newest_uid).run),
        Loop("send events to browsers", Feed(console).run),
    )
    loops = (
        Loop("keep the lease of the leader", leadership.run, vital=True),
        Loop("lead", lambda: leadership.lead(leader_loops), vital=True),
        Loop("measure pauses of this process", ACTIVE.run, vital=True),
        *map(after_election, shared),
    )
    async with LoopSupervisor(store, loops, console.id).running() as failure:
        settled = asyncio.create_task(leadership.settled())
        await asyncio.wait((settled, failure), return_when=asyncio.FIRST_COMPLETED)
        settled.cancel()
        yield failure
    if store.is_shared:
        with suppress(Exception):  # the other consoles count this one as lost
            await presence.record_stop()


async def run(settings: Settings) -> None:
    """Run until a stop signal, or until a vital loop fails permanently: a console without it must not appear to work."""
    async with open_console(settings) as (console, password):
        # This takes seconds on a busy machine, in which a leader could not renew its lease.
        configs = servers(console, create_app(console))
        gc_tuning.freeze_objects()
        async with running_loops(console) as failure:
            _print_welcome(console, password)
            try:
                await http_server.serve(configs, stopping=lambda: console.bus.publish("closing"), watch=failure)
            finally:
                shutdown.limit()


def servers(console: Console, app: FastAPI) -> list[uvicorn.Config]:
    """Return the console's servers: HTTPS, plain HTTP for programs and reverse proxies on this machine, and metrics."""
    settings = console.settings
    tls = {"ssl_context_factory": lambda *_: console.certificate.context}
    listeners: list[tuple[FastAPI, str, int, dict[str, Any]]] = [(app, settings.https_host, settings.https_port, tls)]
    if settings.http_port:
        listeners.append((app, LOOPBACK, settings.http_port, {}))
    if settings.metrics_port:
        listeners.append((prometheus.create_app(console), settings.https_host, settings.metrics_port, tls))
    return [
        http_server.config(
            with_host_check(listener_app, console, host), host, port, proxies=settings.trusted_proxies, **extra
        )
        for listener_app, host, port, extra in listeners
    ]


def _print_welcome(console: Console, password: str | None) -> None:
    settings = console.settings
    suffix = " (certificate of the console CA)" if console.certificate.source == "own" else ""
    lines = [f"Shardboard {__version__}: https://localhost:{settings.https_port}{suffix}"]
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
