"""HTTP application of simulated agents: the calls of `contract/`, with the routes and the sample stream of real agents.

Calls that a simulation does not need (transfers, load generators, drills, and moves of slots) return 404. The console then reports
that the agent does not support them.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shardboard.agent.cluster.identity import CertificateRenewal
from shardboard.agent.cluster.terms import AcceptedTerm, TermMiddleware
from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.agent.routes import ProtocolMiddleware, post_route, route_without_body, stream_route
from shardboard.contract import (
    AgentCertificate,
    CertificateReply,
    ChangePassword,
    KillHungShards,
    NodeLogs,
    PeerAccess,
    ProbeTarget,
    ProxyState,
    ReadCommands,
    ReadHotSlots,
    ReadLogs,
    RemoveShards,
    RenewCertificates,
    RestartShards,
    ShardCommand,
    ShardOutcome,
    StartShards,
    TrustedCas,
)
from shardboard.contract.recovery_copies import CopyVersion, KeepCopies, ReadCopy, RecoveryCopy
from shardboard.driver.interfaces import NodeRef
from shardboard.local.simulation.agents import SimulatedAgents

Body = TypeVar("Body")
Reply = TypeVar("Reply")


@dataclass(frozen=True)
class SimulatedNode:
    """A node that has joined: its own state as a server."""

    ref: NodeRef
    renewal: CertificateRenewal
    ring: SampleRing
    term: AcceptedTerm


_current: ContextVar[SimulatedNode] = ContextVar("simulated_node")
"""The node to which the request was sent."""


def create_app(agents: SimulatedAgents, nodes: Mapping[str, SimulatedNode]) -> ASGIApp:
    """Return one application for all nodes. `nodes` contains them by the address at which they listen."""
    routes = Starlette(routes=[*_node_routes(agents), *_shard_routes(agents)])
    by_address: dict[str, ASGIApp] = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        address = scope["server"][0]
        if (node := nodes.get(address)) is None:  # the node has not joined yet, or was lost
            await PlainTextResponse("no node has this address", 503)(scope, receive, send)
            return
        _current.set(node)
        if address not in by_address:
            by_address[address] = ProtocolMiddleware(TermMiddleware(routes, node.term))
        await by_address[address](scope, receive, send)

    return app


def _post(path: str, shape: Any, handler: Callable[[NodeRef, Body], Awaitable[Reply]]) -> Route:
    async def call(body: Body) -> Reply:
        return await handler(_current.get().ref, body)

    return post_route(path, shape, call)


def _get(path: str, handler: Callable[[NodeRef], Awaitable[Reply]]) -> Route:
    async def call() -> Reply:
        return await handler(_current.get().ref)

    return route_without_body(path, call)


def _node_routes(agents: SimulatedAgents) -> list[Route]:
    async def logs(node: NodeRef, request: ReadLogs) -> NodeLogs:
        return await agents.logs(node, request.engine_ids)

    async def keep(node: NodeRef, request: KeepCopies) -> list[CopyVersion]:
        names = request.names if request.names is not None else [*agents.recovery_copies[node.uid]]
        return await agents.keep_copies(node, request.copies, names)

    async def read(node: NodeRef, request: ReadCopy) -> list[RecoveryCopy]:
        copy = await agents.read_copy(node, request.name)
        return [] if copy is None else [copy]

    async def install(body: AgentCertificate) -> CertificateReply:
        return await _current.get().renewal.install(body)

    async def trust(body: TrustedCas) -> CertificateReply:
        return await _current.get().renewal.trust(body)

    return [
        _get("/facts", agents.facts),
        _post("/logs", ReadLogs, logs),
        _post("/probe", list[ProbeTarget], agents.probe),
        _post("/firewall", PeerAccess, agents.set_peers),
        route_without_body("/certificate/request", lambda: _current.get().renewal.request(), "POST"),
        post_route("/certificate", AgentCertificate, install),
        post_route("/authorities", TrustedCas, trust),
        _get("/proxy", agents.proxy),
        _post("/proxy/apply", ProxyState, agents.apply_proxy),
        _post("/proxy/commands", ReadCommands, agents.read_commands),
        _get("/recovery_copies", agents.list_copies),
        _post("/recovery_copies", KeepCopies, keep),
        _post("/recovery_copies/read", ReadCopy, read),
        stream_route("/samples", lambda _: _current.get().ring),
    ]


def _shard_routes(agents: SimulatedAgents) -> list[Route]:
    async def restart(node: NodeRef, request: RestartShards) -> list[ShardOutcome]:
        return await agents.restart(node, request.engine_ids, discard_data=request.discard_data)

    async def kill_hung(node: NodeRef, request: KillHungShards) -> list[ShardOutcome]:
        return await agents.kill_hung(node, request.engine_ids)

    async def remove(node: NodeRef, request: RemoveShards) -> list[ShardOutcome]:
        return await agents.remove(node, request.engine_ids, dead_only=request.dead_only)

    return [
        _get("/shards", agents.shards),
        _post("/shards/start", StartShards, agents.start),
        _post("/shards/restart", RestartShards, restart),
        _post("/shards/end_hung", KillHungShards, kill_hung),
        _post("/shards/remove", RemoveShards, remove),
        _post("/shards/command", list[ShardCommand], agents.command),
        _post("/shards/certificates", RenewCertificates, agents.renew_certificates),
        _post("/shards/password", ChangePassword, agents.change_password),
        _post("/shards/hot_slots", ReadHotSlots, agents.hot_slots),
    ]
