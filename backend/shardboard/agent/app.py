"""HTTP application and lifecycle of the agent: identity, adoption of running processes, sampling and serving until shutdown."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from shardboard import garbage, recent_log, serving
from shardboard.agent import certificates, flash, logs, machine, passwords, slot_counts
from shardboard.agent.contract import (
    AgentCertificate,
    Authorities,
    ChangePassword,
    CommandResult,
    Drill,
    DrillReply,
    EndHung,
    HotSlots,
    LogsOf,
    MoveSlots,
    NamedLoad,
    NodeFacts,
    ProbeTarget,
    ProxyReport,
    ProxyState,
    ReadCommands,
    ReadLoad,
    RemoveShards,
    RenewCertificates,
    RestartShards,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    SlotCounts,
    StartLoad,
    StartShards,
)
from shardboard.agent.contract.protocol import line_for
from shardboard.agent.drill import Absence, Drills
from shardboard.agent.enrol import enrol, stay_enrolled
from shardboard.agent.identity import Identity, Port, Renewal
from shardboard.agent.loads import Loads
from shardboard.agent.moving import Movers
from shardboard.agent.own_priority import raise_priority
from shardboard.agent.priority import Priorities
from shardboard.agent.probe_rate import ProbeRate
from shardboard.agent.processes import Supervisor
from shardboard.agent.proxy import LOG as PROXY_LOG
from shardboard.agent.proxy import Proxy
from shardboard.agent.results import result_of
from shardboard.agent.routes import Agreement, asked, protocol_of, told, told_by
from shardboard.agent.sampler import Sampler
from shardboard.agent.settings import AgentSettings
from shardboard.agent.shard import Shard
from shardboard.probing import answers

COMMAND_TIMEOUT = 30


def create_app(settings: AgentSettings, renewal: Renewal) -> Starlette:
    """Return the application with the routes of `contract/`. TLS authenticates callers by their client certificate, below HTTP."""
    priorities = Priorities()
    storage = flash.find(settings)
    supervisor = Supervisor(settings, priorities.watch, storage)
    rate = ProbeRate()
    proxy = Proxy(settings, supervisor.engine_id, rate)
    loads = Loads(settings)
    renewal.also_shown_by(proxy.reapply)
    sampler = Sampler(supervisor, machine.MachineSampler(settings, storage), proxy, rate, settings.address)
    drills = Drills(supervisor, sampler, proxy, settings.address)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await loads.adopt()
        await supervisor.adopt()
        loops = (sampler.run(), proxy.run(), priorities.run(supervisor.shards), rate.run(proxy.reapply))
        running = [asyncio.create_task(loop) for loop in loops]
        garbage.settle()
        yield
        for task in running:
            task.cancel()
        if settings.park:
            await loads.park()
            await proxy.park()
            await supervisor.park()

    async def facts() -> NodeFacts:
        found = await asyncio.to_thread(machine.facts, settings, storage)
        return found.model_copy(update={"probes_per_second": rate.per_second})

    async def begin(drill: Drill, asking: list[str]) -> DrillReply:
        # Add the address of the calling console: it is not a node, but an isolated node must not reach it either.
        return DrillReply(refused=await drills.start(drill.model_copy(update={"peers": [*drill.peers, *asking]})))

    async def probe(targets: list[ProbeTarget]) -> list[bool]:
        return await asyncio.gather(*(answers(target.address, target.port, tls=target.tls) for target in targets))

    async def report() -> ProxyReport:
        return proxy.report()

    async def samples(request: Request) -> Response:
        after, boot = request.query_params.get("after", "0"), request.query_params.get("boot", "")
        if not after.isdecimal():
            return PlainTextResponse("after must be a sequence number", 422)
        spoken = protocol_of(request)
        told_lines = (line_for(line, spoken) async for line in sampler.follow(int(after), boot))
        return StreamingResponse(told_lines, media_type="application/x-ndjson")

    app = Starlette(
        routes=[
            asked("/facts", facts),
            told("/logs", LogsOf, logs.reader(settings.state_dir / "proxy" / PROXY_LOG, supervisor)),
            told_by("/drill", Drill, begin),
            told("/probe", list[ProbeTarget], probe),
            asked("/certificate/request", renewal.request, "POST"),
            told("/certificate", AgentCertificate, renewal.take),
            told("/authorities", Authorities, renewal.trust),
            asked("/proxy", report),
            told("/proxy/apply", ProxyState, proxy.apply),
            told("/proxy/commands", ReadCommands, proxy.commands),
            Route("/samples", samples),
            *_shard_routes(supervisor),
            *_load_routes(loads),
        ],
        middleware=[Middleware(Absence, drills=drills), Middleware(Agreement)],
        lifespan=life,
    )
    app.state.sampler = sampler
    return app


def _shard_routes(supervisor: Supervisor) -> list[Route]:
    async def shards() -> list[ShardReport]:
        supervisor.check()
        return [shard.report() for shard in supervisor.shards.values()]

    async def restart(request: RestartShards) -> list[ShardOutcome]:
        return await supervisor.restart(request.uids, discard_data=request.discard_data, engine_ids=request.engine_ids)

    async def end_hung(request: EndHung) -> list[ShardOutcome]:
        return await supervisor.end_hung(request.uids, engine_ids=request.engine_ids)

    async def remove(request: RemoveShards) -> list[ShardOutcome]:
        return await supervisor.remove(request.uids, dead_only=request.dead_only, engine_ids=request.engine_ids)

    async def command(requests: list[ShardCommand]) -> list[CommandResult]:
        return await asyncio.gather(*(_execute(supervisor, request) for request in requests))

    async def renew(request: RenewCertificates) -> list[CommandResult]:
        return await certificates.renew(supervisor, request)

    async def change(request: ChangePassword) -> list[CommandResult]:
        return await passwords.change(supervisor, request)

    async def hot_slots(request: HotSlots) -> list[SlotCounts]:
        return await slot_counts.hottest(supervisor, request)

    return [
        asked("/shards", shards),
        told("/shards/start", StartShards, supervisor.start),
        told("/shards/restart", RestartShards, restart),
        told("/shards/end_hung", EndHung, end_hung),
        told("/shards/remove", RemoveShards, remove),
        told("/shards/command", list[ShardCommand], command),
        told("/shards/certificates", RenewCertificates, renew),
        told("/shards/password", ChangePassword, change),
        told("/shards/move_slots", MoveSlots, Movers(supervisor).move),
        told("/shards/hot_slots", HotSlots, hot_slots),
    ]


def _load_routes(loads: Loads) -> list[Route]:
    return [
        told("/loads/start", StartLoad, loads.start),
        told("/loads/read", ReadLoad, loads.read),
        told("/loads/stop", NamedLoad, loads.stop),
        told("/loads/reports", NamedLoad, loads.reports),
        told("/loads/remove", NamedLoad, loads.remove),
    ]


async def _execute(supervisor: Supervisor, request: ShardCommand) -> CommandResult:
    shard = supervisor.find(request.uid, request.engine_id)
    if shard is None or shard.state != "running":
        return CommandResult(uid=request.uid, ok=False, reply=f"shard {request.uid} does not run here")
    return await result_of(request.uid, _reply(shard, request), COMMAND_TIMEOUT)


async def _reply(shard: Shard, request: ShardCommand) -> str:
    reply = await (await shard.connect()).execute(*request.argv)
    return reply if isinstance(reply, str) else repr(reply)


def run_agent(settings: AgentSettings) -> int:
    """Join the cluster if necessary, then serve until a signal arrives. Return the exit status."""
    raise_priority()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s agent %(levelname)s %(message)s")
    recent_log.keep()
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = machine.facts(settings, flash.find(settings))
    identity = enrol(settings.join, settings.read_token(), settings.address, settings.port, settings.state_dir, facts)
    asyncio.run(_serve(settings, identity, facts))
    return 0


async def _serve(settings: AgentSettings, identity: Identity, facts: NodeFacts) -> None:
    port = Port(identity)
    app = create_app(settings, Renewal(identity, port))
    config = serving.config(app, settings.address, settings.port, ssl_context_factory=lambda *_: port.context)
    watch = asyncio.create_task(stay_enrolled(settings, identity, facts, port))
    await serving.serve([config], stopping=app.state.sampler.close, watch=watch)
