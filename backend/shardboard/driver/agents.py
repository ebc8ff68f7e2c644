"""Agents over HTTPS, with mutual authentication by certificates of the console's private CA."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlencode

import httpx
from cryptography import x509
from pydantic import TypeAdapter, ValidationError

from shardboard.contract import (
    AgentCertificate,
    CertificateReply,
    CertificateRequest,
    ChangePassword,
    CommandCounts,
    CommandResult,
    Drill,
    DrillReply,
    KillHungShards,
    LoadLines,
    LoadReference,
    LoadReports,
    LoadState,
    MoveSlots,
    NodeFacts,
    NodeLogs,
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
    Sample,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    SlotCounts,
    SlotsMoved,
    StartLoad,
    StartShards,
    TrustedCas,
    fit_rows,
    protocol,
)
from shardboard.contract.base import Message
from shardboard.driver import line_stream
from shardboard.driver.interfaces import NodeRef, ServedCertificate
from shardboard.driver.pools import PoolByHost
from shardboard.errors import AgentOutdated, AgentRefused, AgentUnreachable
from shardboard.pki.tls import signing_key_of
from shardboard.valkey.probe import responds

SHORT_TIMEOUT = httpx.Timeout(5, connect=2)
LONG_TIMEOUT = httpx.Timeout(60, connect=2)
ENGINE_TIMEOUT = httpx.Timeout(8, connect=2)
"""Longer than an agent waits for a shard."""
PROBE_TIMEOUT = httpx.Timeout(1.0, connect=0.5)
STREAM_TIMEOUT = httpx.Timeout(3, connect=2)
"""Samples arrive once per second: a stream without data for three seconds is broken."""

T = TypeVar("T")
ShardResult = TypeVar("ShardResult", ShardOutcome, CommandResult, SlotCounts)
PROTOCOL_HEADERS = {protocol.HEADER: str(protocol.PROTOCOL)}

_FACTS = TypeAdapter(NodeFacts)
_REQUEST = TypeAdapter(CertificateRequest)
_CERTIFICATE_REPLY = TypeAdapter(CertificateReply)
_LOGS = TypeAdapter(NodeLogs)
_REPORTS = TypeAdapter(list[ShardReport])
_OUTCOMES = TypeAdapter(list[ShardOutcome])
_COMMANDS = TypeAdapter(list[ShardCommand])
_RESULTS = TypeAdapter(list[CommandResult])
_TARGETS = TypeAdapter(list[ProbeTarget])
_PROBE_RESULTS = TypeAdapter(list[bool])
_PROXY = TypeAdapter(ProxyReport)
_DRILL_REPLY = TypeAdapter(DrillReply)
_MOVED = TypeAdapter(SlotsMoved)
_COUNTS = TypeAdapter(list[SlotCounts])
_COMMAND_COUNTS = TypeAdapter(CommandCounts)
_LOAD = TypeAdapter(LoadState)
_LINES = TypeAdapter(LoadLines)
_LOAD_REPORTS = TypeAdapter(LoadReports)


class HttpAgents:
    """Implements `ports.Agents`."""

    def __init__(self, tls: Callable[[], ssl.SSLContext]) -> None:
        """Create a client; `tls` returns the current TLS context for new connections."""
        self._tls = tls
        self._ends: dict[int, datetime] = {}
        """Expiry of the certificates of agents, by node."""
        self._protocols: dict[int, int] = {}
        """Protocol version of agents, by node."""
        self._http = _Http(tls())

    async def facts(self, node: NodeRef) -> NodeFacts:
        return await self._call(node, "GET", "/facts", SHORT_TIMEOUT, _FACTS)

    async def logs(self, node: NodeRef, shards: Mapping[int, str]) -> NodeLogs:
        async def send(uids: list[int], ids: dict[int, str]) -> NodeLogs:
            return await self._call(
                node, "POST", "/logs", LONG_TIMEOUT, _LOGS, _body(ReadLogs(uids=uids, engine_ids=ids))
            )

        return await self._identified(node, shards, send)

    def certificate_expiry(self, node_uid: int) -> datetime | None:
        return self._ends.get(node_uid)

    async def read_certificate(self, node: NodeRef) -> ServedCertificate:
        with _translate_errors(node):
            _, writer = await line_stream.connect(self._tls(), node.addr, node.port, SHORT_TIMEOUT)
        try:
            served = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        finally:
            writer.close()
        certificate = x509.load_der_x509_certificate(served)
        self._ends[node.uid] = certificate.not_valid_after_utc
        serial, signing_key = f"{certificate.serial_number:x}", signing_key_of(certificate)
        return ServedCertificate(certificate.not_valid_after_utc, serial, signing_key)

    async def request_certificate(self, node: NodeRef) -> str:
        request = await self._call(node, "POST", "/certificate/request", LONG_TIMEOUT, _REQUEST)
        if request.refused:
            raise AgentRefused(f"the agent of node {node.uid} did not request a certificate: {request.refused}")
        return request.csr

    async def install_certificate(self, node: NodeRef, certificate: str) -> None:
        body = _body(AgentCertificate(certificate=certificate))
        reply = await self._call(node, "POST", "/certificate", LONG_TIMEOUT, _CERTIFICATE_REPLY, body)
        if reply.refused:
            raise AgentRefused(f"the agent of node {node.uid} rejected its new certificate: {reply.refused}")

    async def set_trusted_cas(self, node: NodeRef, certificates: str, bundle: str) -> None:
        body = _body(TrustedCas(certificates=certificates, bundle=bundle))
        reply = await self._call(node, "POST", "/authorities", LONG_TIMEOUT, _CERTIFICATE_REPLY, body)
        if reply.refused:
            raise AgentRefused(f"the agent of node {node.uid} rejected the CA certificates: {reply.refused}")

    async def shards(self, node: NodeRef) -> list[ShardReport]:
        return await self._call(node, "GET", "/shards", SHORT_TIMEOUT, _REPORTS)

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        outcomes = await self._call(node, "POST", "/shards/start", LONG_TIMEOUT, _OUTCOMES, _body(request))
        return _for_requested_shards({shard.uid for shard in request.shards}, outcomes)

    async def restart(self, node: NodeRef, shards: Mapping[int, str], *, discard_data: bool) -> list[ShardOutcome]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[ShardOutcome]:
            body = _body(RestartShards(uids=uids, engine_ids=ids, discard_data=discard_data))
            return await self._call(node, "POST", "/shards/restart", LONG_TIMEOUT, _OUTCOMES, body)

        outcomes = _for_requested_shards(shards, await self._identified(node, shards, send))
        absent = shards.keys() - {outcome.uid for outcome in outcomes}
        reason = "its agent does not have it"
        return [
            *outcomes,
            *(ShardOutcome(uid=uid, ok=False, code="start_failed", reason=reason) for uid in sorted(absent)),
        ]

    async def kill_hung(self, node: NodeRef, shards: Mapping[int, str]) -> list[ShardOutcome]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[ShardOutcome]:
            body = _body(KillHungShards(uids=uids, engine_ids=ids))
            return await self._call(node, "POST", "/shards/end_hung", LONG_TIMEOUT, _OUTCOMES, body)

        return _for_requested_shards(shards, await self._identified(node, shards, send))

    async def remove(self, node: NodeRef, shards: Mapping[int, str], *, dead_only: bool = False) -> list[ShardOutcome]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[ShardOutcome]:
            body = _body(RemoveShards(uids=uids, engine_ids=ids, dead_only=dead_only))
            return await self._call(node, "POST", "/shards/remove", LONG_TIMEOUT, _OUTCOMES, body)

        outcomes = await self._identified(node, shards, send)
        # A missing outcome means that an agent of the previous release has another shard with this uid, and thus not this one.
        absent = shards.keys() - {outcome.uid for outcome in outcomes}
        return [*_for_requested_shards(shards, outcomes), *(ShardOutcome(uid=uid, ok=True) for uid in sorted(absent))]

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        named = {command.uid: command.engine_id for command in commands if command.engine_id is not None}
        if unnamed := {command.uid for command in commands} - named.keys():
            raise ValueError(f"commands for shards {sorted(unnamed)} have no engine id")

        async def send(uids: list[int], ids: dict[int, str]) -> list[CommandResult]:
            sent = [
                command if ids else command.model_copy(update={"engine_id": None})
                for command in commands
                if command.uid in uids
            ]
            body = _COMMANDS.dump_json(sent, exclude_defaults=True)
            return await self._call(node, "POST", "/shards/command", LONG_TIMEOUT, _RESULTS, body)

        results = _for_requested_shards(named, await self._identified(node, named, send))
        absent = named.keys() - {result.uid for result in results}
        return [
            *results,
            *(CommandResult(uid=uid, ok=False, reply=f"shard {uid} does not run here") for uid in sorted(absent)),
        ]

    async def renew_certificates(self, node: NodeRef, request: RenewCertificates) -> list[CommandResult]:
        return await self._send_for_database(node, "/shards/certificates", request)

    async def change_password(self, node: NodeRef, request: ChangePassword) -> list[CommandResult]:
        return await self._send_for_database(node, "/shards/password", request)

    async def move_slots(self, node: NodeRef, request: MoveSlots) -> SlotsMoved:
        async def send(uids: list[int], ids: dict[int, str]) -> SlotsMoved:
            if not uids:
                return SlotsMoved(count=0, keys=0, reason=f"shard {request.uid} does not run here")
            sent = request if ids else request.model_copy(update={"engine_id": None})
            return await self._call(node, "POST", "/shards/move_slots", LONG_TIMEOUT, _MOVED, _body(sent))

        return await self._identified(node, {request.uid: request.engine_id or ""}, send)

    async def hot_slots(self, node: NodeRef, request: ReadHotSlots) -> list[SlotCounts]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[SlotCounts]:
            sent = request.model_copy(update={"uids": uids, "engine_ids": ids})
            return await self._call(node, "POST", "/shards/hot_slots", ENGINE_TIMEOUT, _COUNTS, _body(sent))

        return _for_requested_shards(request.uids, await self._identified(node, request.engine_ids, send))

    async def _send_for_database(
        self, node: NodeRef, path: str, request: RenewCertificates | ChangePassword
    ) -> list[CommandResult]:
        try:
            return await self._call(node, "POST", path, LONG_TIMEOUT, _RESULTS, _body(request))
        except AgentOutdated:
            held = {report.engine_id for report in await self.shards(node) if report.bdb_uid == request.bdb_uid}
            if not held <= set(request.engine_ids):
                raise
            sent = request.model_copy(update={"engine_ids": []})
            return await self._call(node, "POST", path, LONG_TIMEOUT, _RESULTS, _body(sent))

    async def _identified(
        self, node: NodeRef, shards: Mapping[int, str], send: Callable[[list[int], dict[int, str]], Awaitable[T]]
    ) -> T:
        """Send a request for shards with their engine ids. An agent of the previous release does not support this field. Then its
        shards are read first, and only uids with the right engine id are sent."""
        if self._protocols.get(node.uid, protocol.PROTOCOL) == protocol.PROTOCOL:
            try:
                return await send(list(shards), dict(shards))
            except AgentOutdated:
                pass
        held = {report.uid: report.engine_id for report in await self.shards(node)}
        return await send([uid for uid, engine_id in shards.items() if held.get(uid, engine_id) == engine_id], {})

    async def read_commands(self, node: NodeRef, request: ReadCommands) -> CommandCounts:
        return await self._call(node, "POST", "/proxy/commands", ENGINE_TIMEOUT, _COMMAND_COUNTS, _body(request))

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        try:
            replies = await self._probed(node, targets)
        except AgentOutdated:
            # The agent does not support probes with TLS; count them as failed and send the others.
            plain = [target for target in targets if not target.tls]
            if plain in ([], list(targets)):
                raise
            seen = iter(await self._probed(node, plain))
            replies = [not target.tls and next(seen, False) for target in targets]
        if len(replies) != len(targets):
            raise AgentRefused(f"the agent of node {node.uid} did not return a result for every probe")
        return replies

    async def _probed(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        body = _TARGETS.dump_json(list(targets), exclude_defaults=True)
        return await self._call(node, "POST", "/probe", PROBE_TIMEOUT, _PROBE_RESULTS, body)

    async def probe_from_console(self, targets: Sequence[ProbeTarget]) -> list[bool]:
        return await asyncio.gather(*(responds(target.address, target.port, tls=target.tls) for target in targets))

    async def apply_proxy(self, node: NodeRef, state: ProxyState) -> ProxyReport:
        try:
            return await self._call(node, "POST", "/proxy/apply", LONG_TIMEOUT, _PROXY, _body(state))
        except AgentOutdated:
            if state.keep:
                raise
            # The previous release does not support canary writes and encrypted shards. Serve databases without canary writes, and
            # leave out encrypted ones.
            served = [database for database in state.databases if database.shard_tls is None]
            plain = [database.model_copy(update={"canary": None}) for database in served]
            if plain == state.databases:
                raise
            report = await self._call(
                node, "POST", "/proxy/apply", LONG_TIMEOUT, _PROXY, _body(state.model_copy(update={"databases": plain}))
            )
            left = {
                database.uid: "the release of its agent does not support encrypted connections to shards; upgrade it"
                for database in state.databases
                if database.shard_tls is not None
            }
            return report.model_copy(update={"failures": report.failures | left})

    async def proxy(self, node: NodeRef) -> ProxyReport:
        return await self._call(node, "GET", "/proxy", SHORT_TIMEOUT, _PROXY)

    async def drill(self, node: NodeRef, drill: Drill) -> str:
        try:
            reply = await self._call(node, "POST", "/drill", SHORT_TIMEOUT, _DRILL_REPLY, _body(drill))
        except AgentOutdated:
            affected = [report for report in await self.shards(node) if drill.uid in (None, report.uid)]
            if drill.engine_ids is None or not {report.engine_id for report in affected} <= set(drill.engine_ids):
                raise
            plain = drill.model_copy(update={"engine_ids": None})
            reply = await self._call(node, "POST", "/drill", SHORT_TIMEOUT, _DRILL_REPLY, _body(plain))
        return reply.refused

    async def start_load(self, node: NodeRef, request: StartLoad) -> LoadState:
        return await self._call(node, "POST", "/loads/start", SHORT_TIMEOUT, _LOAD, _body(request))

    async def read_load(self, node: NodeRef, load: str, after: int, wait: float) -> LoadLines:
        body = _body(ReadLoad(id=load, after=after, wait=wait))
        return await self._call(node, "POST", "/loads/read", LONG_TIMEOUT, _LINES, body)

    async def stop_load(self, node: NodeRef, load: str) -> LoadState:
        return await self._call(node, "POST", "/loads/stop", SHORT_TIMEOUT, _LOAD, _named(load))

    async def load_reports(self, node: NodeRef, load: str) -> LoadReports:
        return await self._call(node, "POST", "/loads/reports", LONG_TIMEOUT, _LOAD_REPORTS, _named(load))

    async def remove_load(self, node: NodeRef, load: str) -> LoadState:
        return await self._call(node, "POST", "/loads/remove", LONG_TIMEOUT, _LOAD, _named(load))

    async def samples(self, node: NodeRef, after: int, boot: str) -> AsyncIterator[Sample | None]:
        with _translate_errors(node):
            target = f"/samples?{urlencode({'after': after, 'boot': boot})}"
            async with line_stream.open_stream(
                self._tls(), node.addr, node.port, target, STREAM_TIMEOUT, PROTOCOL_HEADERS
            ) as reply:
                _check(node, reply.status, reply.headers, "a request for samples")
                async for line in reply:
                    yield fit_rows(Sample.model_validate_json(line)) if line else None

    async def close(self) -> None:
        await self._http.client.aclose()

    @asynccontextmanager
    async def _borrow_client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a client with the current TLS context. A client with an earlier context is closed after its last use."""
        if (tls := self._tls()) is not self._http.tls:
            before, self._http = self._http, _Http(tls)
            if not before.users:
                await before.client.aclose()
        http = self._http
        http.users += 1
        try:
            yield http.client
        finally:
            http.users -= 1
            if http is not self._http and not http.users:
                await http.client.aclose()

    async def _call(
        self,
        node: NodeRef,
        method: str,
        path: str,
        timeout: httpx.Timeout,
        answer: TypeAdapter[T],
        body: bytes | None = None,
    ) -> T:
        headers = PROTOCOL_HEADERS | ({"Content-Type": "application/json"} if body is not None else {})
        with _translate_errors(node):
            async with self._borrow_client() as http:
                reply = await http.request(method, _url(node, path), content=body, headers=headers, timeout=timeout)
            self._protocols[node.uid] = protocol.protocol_from_header(reply.headers.get(protocol.HEADER))
            _check(node, reply.status_code, reply.headers, f"{method} {path}")
            return answer.validate_json(reply.content)


class _Http:
    """An HTTP client, whose TLS context cannot change, and the number of its current users."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.tls = tls
        self.users = 0
        self.client = httpx.AsyncClient(transport=PoolByHost(tls), trust_env=False)


def _named(load: str) -> bytes:
    return _body(LoadReference(id=load))


def _body(message: Message) -> bytes:
    """Serialize without default values, which an earlier release may not know."""
    return message.model_dump_json(exclude_defaults=True).encode()


def _for_requested_shards(requested: Collection[int], results: Sequence[ShardResult]) -> list[ShardResult]:
    """Return the results for the requested shards only."""
    return [each for each in results if each.uid in requested]


def _check(node: NodeRef, status: int, headers: Mapping[str, str], request: str) -> None:
    if status == 503:
        raise AgentUnreachable(f"the agent of node {node.uid} is unavailable because of a drill")
    theirs = protocol.protocol_from_header(headers.get(protocol.HEADER.lower()))
    if refused := protocol.incompatibility(theirs, f"the agent of node {node.uid}"):
        raise AgentRefused(refused)
    if status in (404, 422) and theirs < protocol.PROTOCOL:
        raise AgentOutdated(
            f"the agent of node {node.uid} is of the previous release and does not support {request}; upgrade it"
        )
    if status != 200:
        raise AgentRefused(f"the agent of node {node.uid} returned status {status} for {request}")


def _url(node: NodeRef, path: str) -> str:
    host = f"[{node.addr}]" if ":" in node.addr else node.addr
    return f"https://{host}:{node.port}{path}"


@contextmanager
def _translate_errors(node: NodeRef) -> Iterator[None]:
    """Translate communication errors into errors of the project."""
    where = f"the agent of node {node.uid} ({node.addr}:{node.port})"
    try:
        yield
    except httpx.ConnectTimeout as error:
        raise AgentUnreachable(f"{where} did not accept the connection in time") from error
    except httpx.TimeoutException as error:
        raise AgentUnreachable(f"{where} did not respond in time") from error
    except httpx.RequestError as error:
        raise AgentUnreachable(f"{where} cannot be reached: {error or type(error).__name__}") from error
    except ValidationError as error:
        raise AgentRefused(f"{where} returned an unexpected response") from error
