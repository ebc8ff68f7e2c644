"""Agents over HTTPS, both sides authenticated by certificates of the console's own CA."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlencode

import httpx
from pydantic import TypeAdapter, ValidationError

from shardboard.agent.contract import (
    CommandResult,
    Drill,
    DrillReply,
    MoveSlots,
    NodeFacts,
    ProbeTarget,
    ProxyReport,
    ProxyState,
    RemoveShards,
    RestartShards,
    Sample,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    SlotsMoved,
    StartShards,
)
from shardboard.driver import lines
from shardboard.driver.ports import NodeRef
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.probing import answers

QUICK = httpx.Timeout(5, connect=2)
SLOW = httpx.Timeout(60, connect=2)
PROBE = httpx.Timeout(1.0, connect=0.5)
BEAT = httpx.Timeout(3, connect=2)
"""Samples come once a second: three seconds of silence is a broken stream."""

T = TypeVar("T")

_FACTS = TypeAdapter(NodeFacts)
_REPORTS = TypeAdapter(list[ShardReport])
_OUTCOMES = TypeAdapter(list[ShardOutcome])
_COMMANDS = TypeAdapter(list[ShardCommand])
_RESULTS = TypeAdapter(list[CommandResult])
_TARGETS = TypeAdapter(list[ProbeTarget])
_ANSWERS = TypeAdapter(list[bool])
_PROXY = TypeAdapter(ProxyReport)
_BEGUN = TypeAdapter(DrillReply)
_MOVED = TypeAdapter(SlotsMoved)


class HttpAgents:
    """Implements `ports.Agents`."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._http = httpx.AsyncClient(verify=tls, limits=httpx.Limits(max_keepalive_connections=200), trust_env=False)

    async def facts(self, node: NodeRef) -> NodeFacts:
        return await self._call(node, "GET", "/facts", QUICK, _FACTS)

    async def shards(self, node: NodeRef) -> list[ShardReport]:
        return await self._call(node, "GET", "/shards", QUICK, _REPORTS)

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        return await self._call(node, "POST", "/shards/start", SLOW, _OUTCOMES, request.model_dump_json().encode())

    async def restart(self, node: NodeRef, uids: Sequence[int], *, discard_data: bool) -> list[ShardOutcome]:
        body = RestartShards(uids=list(uids), discard_data=discard_data).model_dump_json().encode()
        return await self._call(node, "POST", "/shards/restart", SLOW, _OUTCOMES, body)

    async def remove(self, node: NodeRef, uids: Sequence[int], *, dead_only: bool = False) -> list[ShardOutcome]:
        body = RemoveShards(uids=list(uids), dead_only=dead_only).model_dump_json().encode()
        return await self._call(node, "POST", "/shards/remove", SLOW, _OUTCOMES, body)

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        body = _COMMANDS.dump_json(list(commands))
        return await self._call(node, "POST", "/shards/command", SLOW, _RESULTS, body)

    async def move_slots(self, node: NodeRef, order: MoveSlots) -> SlotsMoved:
        return await self._call(node, "POST", "/shards/move_slots", SLOW, _MOVED, order.model_dump_json().encode())

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        body = _TARGETS.dump_json(list(targets))
        return await self._call(node, "POST", "/probe", PROBE, _ANSWERS, body)

    async def probe_here(self, targets: Sequence[ProbeTarget]) -> list[bool]:
        return await asyncio.gather(*(answers(target.address, target.port) for target in targets))

    async def apply_proxy(self, node: NodeRef, state: ProxyState) -> ProxyReport:
        return await self._call(node, "POST", "/proxy/apply", SLOW, _PROXY, state.model_dump_json().encode())

    async def proxy(self, node: NodeRef) -> ProxyReport:
        return await self._call(node, "GET", "/proxy", QUICK, _PROXY)

    async def drill(self, node: NodeRef, drill: Drill) -> str:
        reply = await self._call(node, "POST", "/drill", QUICK, _BEGUN, drill.model_dump_json().encode())
        return reply.refused

    async def samples(self, node: NodeRef, after: int, boot: str) -> AsyncIterator[Sample | None]:
        with _translated(node):
            target = f"/samples?{urlencode({'after': after, 'boot': boot})}"
            async with lines.opened(self._tls, node.addr, node.port, target, BEAT) as reply:
                _check(node, reply.status, "a request for samples")
                async for line in reply:
                    yield Sample.model_validate_json(line) if line else None

    async def close(self) -> None:
        await self._http.aclose()

    async def _call(
        self,
        node: NodeRef,
        method: str,
        path: str,
        timeout: httpx.Timeout,
        answer: TypeAdapter[T],
        body: bytes | None = None,
    ) -> T:
        headers = {"Content-Type": "application/json"} if body is not None else None
        with _translated(node):
            reply = await self._http.request(method, _url(node, path), content=body, headers=headers, timeout=timeout)
            _check(node, reply.status_code, f"{method} {path}")
            return answer.validate_json(reply.content)


def _check(node: NodeRef, status: int, request: str) -> None:
    if status == 503:
        raise AgentUnreachable(f"the agent of node {node.uid} is away for a drill")
    if status != 200:
        raise AgentRefused(f"the agent of node {node.uid} answered {status} to {request}")


def _url(node: NodeRef, path: str) -> str:
    host = f"[{node.addr}]" if ":" in node.addr else node.addr
    return f"https://{host}:{node.port}{path}"


@contextmanager
def _translated(node: NodeRef) -> Iterator[None]:
    """What went wrong on the way, as our own errors with a sentence."""
    where = f"the agent of node {node.uid} ({node.addr}:{node.port})"
    try:
        yield
    except httpx.ConnectTimeout as error:
        raise AgentUnreachable(f"{where} does not accept connections in time") from error
    except httpx.TimeoutException as error:
        raise AgentUnreachable(f"{where} does not answer in time") from error
    except httpx.TransportError as error:
        raise AgentUnreachable(f"{where} cannot be reached: {error or type(error).__name__}") from error
    except ValidationError as error:
        raise AgentRefused(
            f"{where} said something that this console does not understand; are both the same release?"
        ) from error
