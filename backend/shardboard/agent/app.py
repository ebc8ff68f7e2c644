"""HTTP application and lifecycle of the agent: identity, adoption of running processes, sampling and serving until shutdown."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from shardboard.agent import logs
from shardboard.agent.benchmarks.load_generators import LoadGenerators
from shardboard.agent.cluster.agent_priority import raise_priority
from shardboard.agent.cluster.identity import AgentIdentity, AgentPort, CertificateRenewal
from shardboard.agent.cluster.join import enrol, stay_enrolled
from shardboard.agent.cluster.recovery_copies import RecoveryCopies
from shardboard.agent.cluster.terms import AcceptedTerm, TermMiddleware
from shardboard.agent.data.file_streams import FileStreams
from shardboard.agent.data.transfers import Transfers
from shardboard.agent.databases import admin_password, flash, shard_certificates
from shardboard.agent.databases.command_results import run_for_result
from shardboard.agent.databases.cpu_pinning import ProcessPinning
from shardboard.agent.databases.peer_firewall import PeerFirewall
from shardboard.agent.databases.priority import ShardPriorities
from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.proxy import LOG as PROXY_LOG
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.failures.drills import END_PATH, Drills, OutageSimulator
from shardboard.agent.metrics import hot_slots as slot_counts
from shardboard.agent.metrics import machine
from shardboard.agent.metrics.sampler import Sampler
from shardboard.agent.placement.slot_moves import SlotMovers
from shardboard.agent.routes import (
    ProtocolMiddleware,
    post_route,
    post_route_with_caller,
    route_without_body,
    stream_route,
)
from shardboard.agent.settings import AgentSettings
from shardboard.contract import (
    AgentCertificate,
    ChangePassword,
    CommandResult,
    CpuPinning,
    Drill,
    DrillReply,
    EndDrill,
    KillHungShards,
    LoadReference,
    MoveSlots,
    NodeFacts,
    PeerAccess,
    ProbeTarget,
    ProxyReport,
    ProxyState,
    ReadCommands,
    ReadHotSlots,
    ReadLoad,
    ReadLogs,
    RemoveShards,
    RenewCertificates,
    RestartShards,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    SlotCounts,
    StartLoad,
    StartShards,
    TrustedCas,
)
from shardboard.contract.recovery_copies import KeepCopies, ReadCopy
from shardboard.contract.transfers import StartTransfer, TransferReferences
from shardboard.kit import gc_tuning, log_buffer
from shardboard.net import http_server
from shardboard.valkey.probe import responds

COMMAND_TIMEOUT = 30


def create_app(settings: AgentSettings, renewal: CertificateRenewal) -> Starlette:
    """Return the application with the routes of `contract/`. TLS authenticates callers by their client certificate, below HTTP."""
    priorities = ShardPriorities()
    storage = flash.open_flash(settings)
    pinning = ProcessPinning(settings.state_dir)
    supervisor = ShardSupervisor(settings, _each(pinning.pin_new, priorities.watch), storage)
    rate = ProbeRate()
    proxy = ProxyProcess(settings, supervisor.engine_id, rate)
    pinning.attach(supervisor.shards, lambda: proxy.pid)
    loads = LoadGenerators(settings)
    transfers = Transfers(settings, supervisor, priorities.lower_new)
    streams = FileStreams(settings, priorities.lower_new)
    renewal.add_server(proxy.reload_certificate)
    sampler = Sampler(supervisor, machine.MachineSampler(settings, storage), proxy, rate, settings.address)
    drills = Drills(supervisor, sampler, proxy, settings.address, settings.port, settings.state_dir)
    firewall = PeerFirewall(supervisor, settings.address)
    copies = RecoveryCopies(settings.state_dir)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await loads.adopt()
        await transfers.adopt()
        await streams.adopt()
        await supervisor.adopt()
        await drills.adopt()
        loops = (
            sampler.run(),
            proxy.run(),
            priorities.run(supervisor.shards, transfers.pids),
            rate.run(proxy.reapply),
            firewall.run(),
            pinning.run(),
        )
        tasks = [asyncio.create_task(loop) for loop in loops]
        gc_tuning.freeze_objects()
        yield
        await firewall.close()
        for task in tasks:
            task.cancel()
        if settings.park:
            await loads.park()
            await transfers.park()
            await proxy.park()
            await supervisor.park()

    async def facts() -> NodeFacts:
        facts = await asyncio.to_thread(machine.facts, settings, storage, is_pinned=pinning.is_active)
        return facts.model_copy(update={"probes_per_second": rate.per_second, "firewall": firewall.report})

    async def probe(targets: list[ProbeTarget]) -> list[bool]:
        return await asyncio.gather(*(responds(target.address, target.port, tls=target.tls) for target in targets))

    async def report() -> ProxyReport:
        return proxy.report()

    app = Starlette(
        routes=[
            route_without_body("/facts", facts),
            post_route("/logs", ReadLogs, logs.make_reader(settings.state_dir / "proxy" / PROXY_LOG, supervisor)),
            *_drill_routes(drills),
            post_route("/probe", list[ProbeTarget], probe),
            route_without_body("/certificate/request", renewal.request, "POST"),
            post_route("/certificate", AgentCertificate, renewal.install),
            post_route("/authorities", TrustedCas, renewal.trust),
            post_route_with_caller("/firewall", PeerAccess, firewall.set_peers),
            post_route("/cpu_pinning", CpuPinning, pinning.set),
            route_without_body("/proxy", report),
            post_route("/proxy/apply", ProxyState, proxy.apply),
            post_route("/proxy/commands", ReadCommands, proxy.commands),
            stream_route("/samples", lambda _: sampler.ring),
            route_without_body("/recovery_copies", copies.versions),
            post_route("/recovery_copies", KeepCopies, copies.keep),
            post_route("/recovery_copies/read", ReadCopy, copies.read),
            *_shard_routes(supervisor),
            *_load_routes(loads),
            *_transfer_routes(transfers),
            *streams.routes(),
        ],
        middleware=[
            Middleware(OutageSimulator, drills=drills),
            Middleware(ProtocolMiddleware),
            Middleware(TermMiddleware, terms=AcceptedTerm(settings.state_dir)),
        ],
        lifespan=life,
    )
    app.state.sampler = sampler
    return app


def _each(*handlers: Callable[[LocalShard], None]) -> Callable[[LocalShard], None]:
    def call(shard: LocalShard) -> None:
        for handler in handlers:
            handler(shard)

    return call


def _drill_routes(drills: Drills) -> list[Route]:
    async def begin(drill: Drill, asking: list[str]) -> DrillReply:
        # Add the address of the calling console: it is not a node, but an isolated node must not reach it either.
        return DrillReply(error=await drills.start(drill.model_copy(update={"peers": [*drill.peers, *asking]})))

    async def end(request: EndDrill) -> DrillReply:
        await drills.end(request.id)
        return DrillReply()

    return [post_route_with_caller("/drill", Drill, begin), post_route(END_PATH, EndDrill, end)]


def _shard_routes(supervisor: ShardSupervisor) -> list[Route]:
    async def shards() -> list[ShardReport]:
        supervisor.check()
        return [shard.report() for shard in supervisor.shards.values()]

    async def restart(request: RestartShards) -> list[ShardOutcome]:
        return await supervisor.restart(request.uids, discard_data=request.discard_data, engine_ids=request.engine_ids)

    async def end_hung(request: KillHungShards) -> list[ShardOutcome]:
        return await supervisor.kill_hung(request.uids, engine_ids=request.engine_ids)

    async def remove(request: RemoveShards) -> list[ShardOutcome]:
        return await supervisor.remove(request.uids, dead_only=request.dead_only, engine_ids=request.engine_ids)

    async def command(requests: list[ShardCommand]) -> list[CommandResult]:
        return await asyncio.gather(*(_execute(supervisor, request) for request in requests))

    async def renew(request: RenewCertificates) -> list[CommandResult]:
        return await shard_certificates.install_certificates(supervisor, request)

    async def change(request: ChangePassword) -> list[CommandResult]:
        return await admin_password.change(supervisor, request)

    async def hot_slots(request: ReadHotSlots) -> list[SlotCounts]:
        return await slot_counts.read_hot_slots(supervisor, request)

    return [
        route_without_body("/shards", shards),
        post_route("/shards/start", StartShards, supervisor.start),
        post_route("/shards/restart", RestartShards, restart),
        post_route("/shards/end_hung", KillHungShards, end_hung),
        post_route("/shards/remove", RemoveShards, remove),
        post_route("/shards/command", list[ShardCommand], command),
        post_route("/shards/certificates", RenewCertificates, renew),
        post_route("/shards/password", ChangePassword, change),
        post_route("/shards/move_slots", MoveSlots, SlotMovers(supervisor).move),
        post_route("/shards/hot_slots", ReadHotSlots, hot_slots),
    ]


def _load_routes(loads: LoadGenerators) -> list[Route]:
    return [
        post_route("/loads/start", StartLoad, loads.start),
        post_route("/loads/read", ReadLoad, loads.read),
        post_route("/loads/stop", LoadReference, loads.stop),
        post_route("/loads/reports", LoadReference, loads.reports),
        post_route("/loads/remove", LoadReference, loads.remove),
    ]


def _transfer_routes(transfers: Transfers) -> list[Route]:
    return [
        post_route("/transfers/start", StartTransfer, transfers.start),
        post_route("/transfers/states", TransferReferences, transfers.states),
        post_route("/transfers/stop", TransferReferences, transfers.stop),
        post_route("/transfers/remove", TransferReferences, transfers.remove),
    ]


async def _execute(supervisor: ShardSupervisor, request: ShardCommand) -> CommandResult:
    shard = supervisor.find(request.uid, request.engine_id)
    if shard is None or shard.state != "running":
        return CommandResult(uid=request.uid, ok=False, reply=f"shard {request.uid} does not run on this node")
    return await run_for_result(request.uid, _reply(shard, request), COMMAND_TIMEOUT)


async def _reply(shard: LocalShard, request: ShardCommand) -> str:
    reply = await (await shard.connect()).execute(*request.argv)
    return reply if isinstance(reply, str) else repr(reply)


def run_agent(settings: AgentSettings) -> int:
    """Join the cluster if necessary, then serve until a signal arrives. Return the exit status."""
    raise_priority()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s agent %(levelname)s %(message)s")
    log_buffer.install()
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = machine.facts(settings, flash.open_flash(settings))
    identity = enrol(
        settings.join,
        settings.read_token(),
        settings.address,
        settings.port,
        settings.state_dir,
        facts,
        settings.rack_id,
    )
    asyncio.run(_serve(settings, identity, facts))
    return 0


async def _serve(settings: AgentSettings, identity: AgentIdentity, facts: NodeFacts) -> None:
    port = AgentPort(identity)
    renewal = CertificateRenewal(identity, port)
    app = create_app(settings, renewal)
    config = http_server.config(app, settings.address, settings.port, ssl_context_factory=lambda *_: port.context)
    enrollment = asyncio.create_task(stay_enrolled(settings, identity, facts, renewal))
    await http_server.serve([config], stopping=app.state.sampler.ring.close, watch=enrollment)
