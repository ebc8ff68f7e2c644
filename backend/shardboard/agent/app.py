"""The agent's HTTP side and its life: identity, adoption, sampling, serving until told to stop."""

import asyncio
import logging
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from shardboard import serving
from shardboard.agent import machine
from shardboard.agent.contract import (
    CommandResult,
    Drill,
    DrillReply,
    NodeFacts,
    ProbeTarget,
    ProxyReport,
    ProxyState,
    RemoveShards,
    RestartShards,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    StartShards,
)
from shardboard.agent.drill import Absence, Drills
from shardboard.agent.enrol import Identity, enrol, load
from shardboard.agent.processes import Supervisor
from shardboard.agent.proxy import Proxy
from shardboard.agent.resp import EngineError
from shardboard.agent.sampler import Sampler
from shardboard.agent.settings import AgentSettings
from shardboard.probing import answers

COMMAND_TIMEOUT = 30


def create_app(settings: AgentSettings) -> FastAPI:
    """The routes of `contract.py`. Who may call is decided below HTTP, by the certificate."""
    supervisor = Supervisor(settings)
    proxy = Proxy(settings)
    sampler = Sampler(supervisor, machine.MachineSampler(settings), proxy)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await supervisor.adopt()
        running = [asyncio.create_task(sampler.run()), asyncio.create_task(proxy.run())]
        yield
        for task in running:
            task.cancel()
        if settings.park:
            await proxy.park()
            await supervisor.park()

    app = FastAPI(lifespan=life, openapi_url=None)
    app.state.sampler = sampler
    drills = Drills(supervisor, sampler, proxy, settings.address)
    app.add_middleware(Absence, drills=drills)

    @app.get("/facts")
    def facts() -> NodeFacts:
        return machine.facts(settings)

    @app.post("/drill")
    async def drill(order: Drill, request: Request) -> DrillReply:
        # The console is whoever asks: it is no node, but a node that is cut off does not hear it either.
        asking = [request.client.host] if request.client is not None else []
        return DrillReply(refused=drills.begin(order.model_copy(update={"peers": [*order.peers, *asking]})))

    @app.post("/probe")
    async def probe(targets: list[ProbeTarget]) -> list[bool]:
        return await asyncio.gather(*(answers(target.address, target.port) for target in targets))

    @app.get("/proxy")
    async def proxy_report() -> ProxyReport:
        return proxy.report()

    @app.post("/proxy/apply")
    async def apply(request: ProxyState) -> ProxyReport:
        return await proxy.apply(request)

    @app.get("/samples")
    async def samples(after: int = 0, boot: str = "") -> StreamingResponse:
        lines = (f"{sample.model_dump_json() if sample else ''}\n" async for sample in sampler.follow(after, boot))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    _serve_shards(app, supervisor)
    return app


def _serve_shards(app: FastAPI, supervisor: Supervisor) -> None:
    @app.get("/shards")
    async def shards() -> list[ShardReport]:
        supervisor.check()
        return [shard.report() for shard in supervisor.shards.values()]

    @app.post("/shards/start")
    async def start(request: StartShards) -> list[ShardOutcome]:
        return await supervisor.start(request)

    @app.post("/shards/restart")
    async def restart(request: RestartShards) -> list[ShardOutcome]:
        return await supervisor.restart(request.uids, discard_data=request.discard_data)

    @app.post("/shards/remove")
    async def remove(request: RemoveShards) -> list[ShardOutcome]:
        return await supervisor.remove(request.uids, dead_only=request.dead_only)

    @app.post("/shards/command")
    async def command(requests: list[ShardCommand]) -> list[CommandResult]:
        return await asyncio.gather(*(_execute(supervisor, request) for request in requests))


async def _execute(supervisor: Supervisor, request: ShardCommand) -> CommandResult:
    shard = supervisor.shards.get(request.uid)
    if shard is None or shard.state != "running":
        return CommandResult(uid=request.uid, ok=False, reply=f"shard {request.uid} does not run here")
    try:
        async with asyncio.timeout(COMMAND_TIMEOUT):
            reply = await (await shard.connect()).execute(*request.argv)
    except TimeoutError:
        return CommandResult(uid=request.uid, ok=False, reply=f"no answer within {COMMAND_TIMEOUT} s")
    except EngineError as error:
        return CommandResult(uid=request.uid, ok=False, reply=str(error))
    return CommandResult(uid=request.uid, ok=True, reply=reply if isinstance(reply, str) else repr(reply))


def run_agent(settings: AgentSettings) -> int:
    """Join if need be, then serve until a signal. The exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s agent %(levelname)s %(message)s")
    settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    joining = load(settings.state_dir) is None
    identity = enrol(
        settings.join, settings.token, settings.address, settings.port, settings.state_dir, machine.facts(settings)
    )
    if joining:
        # What making a key needed stays in memory, a fifth of the agent, for as long as it runs: start over without it.
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - the same program with the same arguments
    asyncio.run(_serve(settings, identity))
    return 0


async def _serve(settings: AgentSettings, identity: Identity) -> None:
    app = create_app(settings)
    config = serving.config(app, settings.address, settings.port, **tls_options(identity))
    never = asyncio.get_running_loop().create_future()
    await serving.serve([config], stopping=app.state.sampler.close, watch=never)


def tls_options(identity: Identity) -> dict[str, Any]:
    """uvicorn's options for mutual TLS: only the console's client certificate of our own CA gets in."""
    return {
        "ssl_keyfile": str(identity.key),
        "ssl_certfile": str(identity.certificate),
        "ssl_ca_certs": str(identity.ca),
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
    }
