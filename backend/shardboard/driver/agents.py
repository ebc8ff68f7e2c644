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
from pydantic import TypeAdapter

from shardboard.contract import (
    MAX_LINE_BYTES,
    AgentCertificate,
    ChangePassword,
    CommandCounts,
    CommandResult,
    CpuPinning,
    Drill,
    EndDrill,
    FirewallReport,
    KillHungShards,
    LoadLines,
    LoadReference,
    LoadReports,
    LoadState,
    MoveSlots,
    NodeFacts,
    NodeLogs,
    PeerAccess,
    PinningReport,
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
from shardboard.driver import line_stream, replies, terms
from shardboard.driver.agent_budgets import AgentBudgets
from shardboard.driver.data.file_streams import FileStreamCalls
from shardboard.driver.data.recovery_copies import RecoveryCopyCalls
from shardboard.driver.data.transfers import TransferCalls
from shardboard.driver.failures import drills
from shardboard.driver.interfaces import NodeRef, ServedCertificate
from shardboard.driver.pools import PoolByHost
from shardboard.driver.replies import ReplyShape
from shardboard.errors import AgentOutdated, AgentRefused, AgentUnreachable
from shardboard.kit.addresses import host_port
from shardboard.pki.tls import signing_key_of
from shardboard.valkey.probe import responds

SHORT_TIMEOUT = httpx.Timeout(5, connect=2)
LONG_TIMEOUT = httpx.Timeout(60, connect=2)
ENGINE_TIMEOUT = httpx.Timeout(8, connect=2)
"""Longer than an agent waits for a shard."""
PROBE_TIMEOUT = httpx.Timeout(1.0, connect=0.5)
STREAM_TIMEOUT = httpx.Timeout(3, connect=2)
"""Samples arrive once per second: a stream without data for three seconds is broken."""
MAX_PARTS, PART_BYTES = 1_000, 512
"""A response of more than MAX_PARTS parts must contain PART_BYTES in each part on average, because each part costs the same."""
MAX_BUSY_SECONDS = 0.01
"""CPU seconds for consecutive samples of one agent, after which other tasks can run."""

T = TypeVar("T")
ShardResult = TypeVar("ShardResult", ShardOutcome, CommandResult, SlotCounts)
PROTOCOL_HEADERS = {protocol.HEADER: str(protocol.PROTOCOL), "Accept-Encoding": "identity"}

UNKNOWN_CA = ("unable to get local issuer certificate", "self-signed certificate in certificate chain")
"""Reasons of OpenSSL for rejecting a certificate of another CA."""
_COMMANDS = TypeAdapter(list[ShardCommand])
_TARGETS = TypeAdapter(list[ProbeTarget])


class HttpAgents(TransferCalls, FileStreamCalls, RecoveryCopyCalls):
    """Implements `ports.Agents`."""

    def __init__(self, tls: Callable[[], ssl.SSLContext], known_terms: terms.Terms | None = None) -> None:
        """Create a client; `tls` returns the current TLS context for new connections."""
        self._tls = tls
        self._terms = known_terms or terms.NoTerms()
        self._ends: dict[int, datetime] = {}
        """Expiry of the certificates of agents, by node."""
        self._protocols: dict[int, int] = {}
        """Protocol version of agents, by node."""
        self._http = _Http(tls())
        self._budgets = AgentBudgets()

    async def facts(self, node: NodeRef) -> NodeFacts:
        return await self._call(node, "GET", "/facts", SHORT_TIMEOUT, replies.FACTS)

    async def logs(self, node: NodeRef, shards: Mapping[int, str]) -> NodeLogs:
        async def send(uids: list[int], ids: dict[int, str]) -> NodeLogs:
            return await self._call(
                node, "POST", "/logs", LONG_TIMEOUT, replies.LOGS, _body(ReadLogs(uids=uids, engine_ids=ids))
            )

        logs = await self._identified(node, shards, send)
        return logs.model_copy(update={"shards": {uid: text for uid, text in logs.shards.items() if uid in shards}})

    def cut_off_reason(self, node_uid: int) -> str:
        return self._budgets.cut_off_reason(node_uid)

    def certificate_expiry(self, node_uid: int) -> datetime | None:
        return self._ends.get(node_uid)

    async def read_certificate(self, node: NodeRef) -> ServedCertificate:
        with _translate_errors(node):
            _, writer = await line_stream.connect(self._tls(), node.addr, node.port, SHORT_TIMEOUT)
        try:
            peer_certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        finally:
            writer.close()
        certificate = x509.load_der_x509_certificate(peer_certificate)
        self._ends[node.uid] = certificate.not_valid_after_utc
        serial, signing_key = f"{certificate.serial_number:x}", signing_key_of(certificate)
        return ServedCertificate(certificate.not_valid_after_utc, serial, signing_key)

    async def request_certificate(self, node: NodeRef) -> str:
        request = await self._call(node, "POST", "/certificate/request", LONG_TIMEOUT, replies.CERTIFICATE_REQUEST)
        if request.error:
            raise AgentRefused(f"the agent of node {node.uid} did not request a certificate: {request.error}")
        return request.csr

    async def install_certificate(self, node: NodeRef, certificate: str) -> None:
        body = _body(AgentCertificate(certificate=certificate))
        reply = await self._call(node, "POST", "/certificate", LONG_TIMEOUT, replies.CERTIFICATE_REPLY, body)
        if reply.error:
            raise AgentRefused(f"the agent of node {node.uid} rejected its new certificate: {reply.error}")

    async def set_trusted_cas(self, node: NodeRef, certificates: str, bundle: str) -> None:
        body = _body(TrustedCas(certificates=certificates, bundle=bundle))
        reply = await self._call(node, "POST", "/authorities", LONG_TIMEOUT, replies.CERTIFICATE_REPLY, body)
        if reply.error:
            raise AgentRefused(f"the agent of node {node.uid} rejected the CA certificates: {reply.error}")

    async def shards(self, node: NodeRef) -> list[ShardReport]:
        return await self._call(node, "GET", "/shards", SHORT_TIMEOUT, replies.REPORTS)

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        outcomes = await self._call(node, "POST", "/shards/start", LONG_TIMEOUT, replies.OUTCOMES, _body(request))
        return _for_requested_shards({shard.uid for shard in request.shards}, outcomes)

    async def restart(self, node: NodeRef, shards: Mapping[int, str], *, discard_data: bool) -> list[ShardOutcome]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[ShardOutcome]:
            body = _body(RestartShards(uids=uids, engine_ids=ids, discard_data=discard_data))
            return await self._call(node, "POST", "/shards/restart", LONG_TIMEOUT, replies.OUTCOMES, body)

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
            return await self._call(node, "POST", "/shards/end_hung", LONG_TIMEOUT, replies.OUTCOMES, body)

        return _for_requested_shards(shards, await self._identified(node, shards, send))

    async def remove(self, node: NodeRef, shards: Mapping[int, str], *, dead_only: bool = False) -> list[ShardOutcome]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[ShardOutcome]:
            body = _body(RemoveShards(uids=uids, engine_ids=ids, dead_only=dead_only))
            return await self._call(node, "POST", "/shards/remove", LONG_TIMEOUT, replies.OUTCOMES, body)

        outcomes = await self._identified(node, shards, send)
        # A missing outcome means that an agent of the previous release has another shard with this uid, and thus not this one.
        absent = shards.keys() - {outcome.uid for outcome in outcomes}
        return [*_for_requested_shards(shards, outcomes), *(ShardOutcome(uid=uid, ok=True) for uid in sorted(absent))]

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        engine_ids = {command.uid: command.engine_id for command in commands if command.engine_id is not None}
        if uids_without_id := {command.uid for command in commands} - engine_ids.keys():
            raise ValueError(f"commands for shards {sorted(uids_without_id)} have no engine id")

        async def send(uids: list[int], ids: dict[int, str]) -> list[CommandResult]:
            identified = [
                command if ids else command.model_copy(update={"engine_id": None})
                for command in commands
                if command.uid in uids
            ]
            body = _COMMANDS.dump_json(identified, exclude_defaults=True)
            return await self._call(node, "POST", "/shards/command", LONG_TIMEOUT, replies.RESULTS, body)

        results = _for_requested_shards(engine_ids, await self._identified(node, engine_ids, send))
        absent = engine_ids.keys() - {result.uid for result in results}
        return [
            *results,
            *(
                CommandResult(uid=uid, ok=False, reply=f"shard {uid} does not run on this node")
                for uid in sorted(absent)
            ),
        ]

    async def renew_certificates(self, node: NodeRef, request: RenewCertificates) -> list[CommandResult]:
        return await self._send_for_database(node, "/shards/certificates", request)

    async def change_password(self, node: NodeRef, request: ChangePassword) -> list[CommandResult]:
        return await self._send_for_database(node, "/shards/password", request)

    async def move_slots(self, node: NodeRef, request: MoveSlots) -> SlotsMoved:
        async def send(uids: list[int], ids: dict[int, str]) -> SlotsMoved:
            if not uids:
                return SlotsMoved(count=0, keys=0, reason=f"shard {request.uid} does not run on this node")
            outgoing = request if ids else request.model_copy(update={"engine_id": None})
            return await self._call(
                node, "POST", "/shards/move_slots", LONG_TIMEOUT, replies.SLOTS_MOVED, _body(outgoing)
            )

        return await self._identified(node, {request.uid: request.engine_id or ""}, send)

    async def hot_slots(self, node: NodeRef, request: ReadHotSlots) -> list[SlotCounts]:
        async def send(uids: list[int], ids: dict[int, str]) -> list[SlotCounts]:
            outgoing = request.model_copy(update={"uids": uids, "engine_ids": ids})
            return await self._call(
                node, "POST", "/shards/hot_slots", ENGINE_TIMEOUT, replies.SLOT_COUNTS, _body(outgoing)
            )

        return _for_requested_shards(request.uids, await self._identified(node, request.engine_ids, send))

    async def _send_for_database(
        self, node: NodeRef, path: str, request: RenewCertificates | ChangePassword
    ) -> list[CommandResult]:
        try:
            return await self._call(node, "POST", path, LONG_TIMEOUT, replies.RESULTS, _body(request))
        except AgentOutdated:
            engine_ids = {report.engine_id for report in await self.shards(node) if report.bdb_uid == request.bdb_uid}
            if not engine_ids <= set(request.engine_ids):
                raise
            without_ids = request.model_copy(update={"engine_ids": []})
            return await self._call(node, "POST", path, LONG_TIMEOUT, replies.RESULTS, _body(without_ids))

    async def _identified(
        self, node: NodeRef, shards: Mapping[int, str], send: Callable[[list[int], dict[int, str]], Awaitable[T]]
    ) -> T:
        """Send a request for shards with their engine ids. An agent of the previous release does not support this field. Then its
        shards are read first, and only uids with the right engine id are sent."""
        if self._protocols.get(node.uid, protocol.PROTOCOL) > protocol.FIRST_PROTOCOL:
            try:
                return await send(list(shards), dict(shards))
            except AgentOutdated:
                if self._protocols.get(node.uid) == protocol.PROTOCOL:
                    raise
        engine_ids = {report.uid: report.engine_id for report in await self.shards(node)}
        return await send([uid for uid, engine_id in shards.items() if engine_ids.get(uid, engine_id) == engine_id], {})

    async def read_commands(self, node: NodeRef, request: ReadCommands) -> CommandCounts:
        return await self._call(node, "POST", "/proxy/commands", ENGINE_TIMEOUT, replies.COMMAND_COUNTS, _body(request))

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        try:
            replies = await self._probed(node, targets)
        except AgentOutdated:
            # The agent does not support probes with TLS; count them as failed and send the others.
            without_tls = [target for target in targets if not target.tls]
            if without_tls in ([], list(targets)):
                raise
            answers = iter(await self._probed(node, without_tls))
            replies = [not target.tls and next(answers, False) for target in targets]
        if len(replies) != len(targets):
            raise AgentRefused(f"the agent of node {node.uid} did not return a result for every probe")
        return replies

    async def _probed(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        body = _TARGETS.dump_json(list(targets), exclude_defaults=True)
        return await self._call(node, "POST", "/probe", PROBE_TIMEOUT, replies.PROBE_RESULTS, body)

    async def probe_from_console(self, targets: Sequence[ProbeTarget]) -> list[bool]:
        return await asyncio.gather(*(responds(target.address, target.port, tls=target.tls) for target in targets))

    async def apply_proxy(self, node: NodeRef, state: ProxyState) -> ProxyReport:
        try:
            return await self._call(node, "POST", "/proxy/apply", LONG_TIMEOUT, replies.PROXY, _body(state))
        except AgentOutdated:
            if state.keep:
                raise
            # The previous release does not support canary writes and encrypted shards. Serve databases without canary writes, and
            # leave out encrypted ones.
            without_tls = [database for database in state.databases if database.shard_tls is None]
            without_canaries = [database.model_copy(update={"canary": None}) for database in without_tls]
            if without_canaries == state.databases:
                raise
            report = await self._call(
                node,
                "POST",
                "/proxy/apply",
                LONG_TIMEOUT,
                replies.PROXY,
                _body(state.model_copy(update={"databases": without_canaries})),
            )
            unencrypted_reasons = {
                database.uid: "the release of its agent does not support encrypted connections to shards; upgrade it"
                for database in state.databases
                if database.shard_tls is not None
            }
            return report.model_copy(update={"failures": report.failures | unencrypted_reasons})

    async def proxy(self, node: NodeRef) -> ProxyReport:
        return await self._call(node, "GET", "/proxy", SHORT_TIMEOUT, replies.PROXY)

    async def set_peers(self, node: NodeRef, access: PeerAccess) -> FirewallReport:
        return await self._call(node, "POST", "/firewall", SHORT_TIMEOUT, replies.FIREWALL, _body(access))

    async def pin_processes(self, node: NodeRef, pinning: CpuPinning) -> PinningReport:
        return await self._call(node, "POST", "/cpu_pinning", SHORT_TIMEOUT, replies.PINNING, _body(pinning))

    async def drill(self, node: NodeRef, drill: Drill) -> str:
        try:
            reply = await self._call(node, "POST", "/drill", SHORT_TIMEOUT, replies.DRILL_REPLY, _body(drill))
        except AgentOutdated:
            affected = [report for report in await self.shards(node) if drill.uid in (None, report.uid)]
            if drill.engine_ids is None or not {report.engine_id for report in affected} <= set(drill.engine_ids):
                raise
            without_ids = drill.model_copy(update={"engine_ids": None, "end_token": ""})
            reply = await self._call(node, "POST", "/drill", SHORT_TIMEOUT, replies.DRILL_REPLY, _body(without_ids))
        return reply.error

    async def end_drill(self, node: NodeRef, drill_id: str, token: str) -> None:
        drills.send_end_token(node, token)
        body = _body(EndDrill(id=drill_id))
        await self._call(node, "POST", "/drill/end", SHORT_TIMEOUT, replies.DRILL_REPLY, body)

    async def start_load(self, node: NodeRef, request: StartLoad) -> LoadState:
        return await self._call(node, "POST", "/loads/start", SHORT_TIMEOUT, replies.LOAD_STATE, _body(request))

    async def read_load(self, node: NodeRef, load: str, after: int, wait: float) -> LoadLines:
        body = _body(ReadLoad(id=load, after=after, wait=wait))
        return await self._call(node, "POST", "/loads/read", LONG_TIMEOUT, replies.LOAD_LINES, body)

    async def stop_load(self, node: NodeRef, load: str) -> LoadState:
        return await self._call(node, "POST", "/loads/stop", SHORT_TIMEOUT, replies.LOAD_STATE, _named(load))

    async def load_reports(self, node: NodeRef, load: str) -> LoadReports:
        return await self._call(node, "POST", "/loads/reports", LONG_TIMEOUT, replies.LOAD_REPORTS, _named(load))

    async def remove_load(self, node: NodeRef, load: str) -> LoadState:
        return await self._call(node, "POST", "/loads/remove", LONG_TIMEOUT, replies.LOAD_STATE, _named(load))

    async def samples(
        self,
        node: NodeRef,
        after: int,
        boot: str,
        max_line: Callable[[], int] = lambda: MAX_LINE_BYTES,
        *,
        rare_pulses: bool = False,
    ) -> AsyncIterator[Sample | None]:
        self._budgets.check(node.uid)
        query = {"after": after, "boot": boot} | ({"pulses": "rare"} if rare_pulses else {})
        target = f"/samples?{urlencode(query)}"
        stream = line_stream.open_stream(
            self._tls(), node.addr, node.port, target, STREAM_TIMEOUT, PROTOCOL_HEADERS, max_line
        )
        try:
            with _translate_errors(node):
                async with stream as reply:
                    _check(node, reply.status, reply.headers, "a request for samples")
                    busy = 0.0
                    async for line in reply:
                        sample, seconds = await replies.SAMPLE.parse(line) if line else (None, 0.0)
                        busy += self._budgets.spend(node.uid, len(line), seconds)
                        if sample is not None:
                            self._budgets.spend_sample(node.uid, len(sample.outages))
                        self._budgets.check(node.uid)
                        if line and sample is None:
                            raise _unexpected(node)
                        yield fit_rows(sample) if sample is not None else None
                        if busy > MAX_BUSY_SECONDS:
                            busy = 0.0
                            await asyncio.sleep(0)
        except line_stream.LineTooLong as error:
            self._budgets.cut_off(node.uid, str(error))
            self._budgets.check(node.uid)

    async def close(self) -> None:
        await self._http.client.aclose()

    @asynccontextmanager
    async def _borrow_client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a client with the current TLS context. A client with an earlier context is closed after its last use."""
        if (tls := self._tls()) is not self._http.tls:
            previous, self._http = self._http, _Http(tls)
            if not previous.users:
                await previous.client.aclose()
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
        shape: ReplyShape[T],
        body: bytes | None = None,
    ) -> T:
        """Send a request. It is repeated once if the agent refused its term and there is a newer one now."""
        try:
            return await self._send(node, method, path, timeout, shape, body)
        except terms.TermRefused as refusal:
            if not await self._terms.update(refusal.newest):
                raise
        return await self._send(node, method, path, timeout, shape, body)

    async def _send(
        self,
        node: NodeRef,
        method: str,
        path: str,
        timeout: httpx.Timeout,
        shape: ReplyShape[T],
        body: bytes | None,
    ) -> T:
        self._budgets.check(node.uid)
        headers = (
            PROTOCOL_HEADERS
            | terms.header(self._terms)
            | ({"Content-Type": "application/json"} if body is not None else {})
        )
        with _translate_errors(node):
            async with (
                asyncio.timeout(_total_seconds(timeout)),
                self._borrow_client() as http,
                http.stream(method, _url(node, path), content=body, headers=headers, timeout=timeout) as reply,
            ):
                content = await self._read(node, reply, shape.max_bytes)
            self._protocols[node.uid] = protocol.protocol_from_header(reply.headers.get(protocol.HEADER))
            if reply.status_code == 409:
                raise terms.refusal(_name(node), content)
            _check(node, reply.status_code, reply.headers, f"{method} {path}")
        return await self._message(node, content, shape)

    @asynccontextmanager
    async def _open(
        self, node: NodeRef, path: str, timeout: httpx.Timeout, content: bytes | AsyncIterator[bytes]
    ) -> AsyncIterator[httpx.Response]:
        """Send a request whose content or response has any length. Its duration is not limited."""
        self._budgets.check(node.uid)
        with _translate_errors(node):
            async with (
                self._borrow_client() as http,
                http.stream(
                    "POST", _url(node, path), content=content, headers=PROTOCOL_HEADERS, timeout=timeout
                ) as reply,
            ):
                _check(node, reply.status_code, reply.headers, f"POST {path}")
                yield reply

    async def _parse(self, node: NodeRef, reply: httpx.Response, shape: ReplyShape[T]) -> T:
        return await self._message(node, await self._read(node, reply, shape.max_bytes), shape)

    async def _message(self, node: NodeRef, content: bytes, shape: ReplyShape[T]) -> T:
        message, seconds = await shape.parse(content)
        self._budgets.spend(node.uid, 0, seconds)
        if message is None:
            raise _unexpected(node)
        return message

    async def _read(self, node: NodeRef, reply: httpx.Response, limit: int) -> bytes:
        """Return the body as it was sent. Compressed bodies, which agents do not send, are not decompressed."""
        content, parts = bytearray(), 0
        async for part in reply.aiter_raw():
            content += part
            parts += 1
            self._budgets.spend(node.uid, len(part))
            self._budgets.check(node.uid)
            if len(content) > limit:
                raise AgentRefused(f"the agent of node {node.uid} returned a response of more than {limit >> 20} MiB")
            if parts > MAX_PARTS + len(content) // PART_BYTES:
                raise AgentRefused(f"the agent of node {node.uid} returned a response in too many parts")
        return bytes(content)


class _Http:
    """An HTTP client, whose TLS context cannot change, and the number of its current users."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.tls = tls
        self.users = 0
        self.client = httpx.AsyncClient(transport=PoolByHost(tls), trust_env=False)


def _total_seconds(timeout: httpx.Timeout) -> float:
    """Return the limit for a complete request. httpx limits only each single read."""
    return (timeout.connect or 0.0) + 2 * (timeout.read or 0.0)


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
    agent_protocol = protocol.protocol_from_header(headers.get(protocol.HEADER.lower()))
    if incompatibility := protocol.incompatibility(agent_protocol, f"the agent of node {node.uid}"):
        raise AgentRefused(incompatibility)
    # An agent of an older build can have the same protocol, and lack a call or reject a field that was added since.
    if status == 404 or (status == 422 and agent_protocol < protocol.PROTOCOL):
        raise AgentOutdated(
            f"the agent of node {node.uid} runs an older release and does not support {request}; upgrade the agent"
        )
    if status != 200:
        raise AgentRefused(f"the agent of node {node.uid} returned status {status} for {request}")


def _url(node: NodeRef, path: str) -> str:
    return f"https://{host_port(node.addr, node.port)}{path}"


def _name(node: NodeRef) -> str:
    return f"the agent of node {node.uid} ({host_port(node.addr, node.port)})"


def _unexpected(node: NodeRef) -> AgentRefused:
    return AgentRefused(f"{_name(node)} returned an unexpected response")


@contextmanager
def _translate_errors(node: NodeRef) -> Iterator[None]:
    """Translate communication errors into errors of the project."""
    agent_name = _name(node)
    try:
        yield
    except httpx.ConnectTimeout as error:
        raise AgentUnreachable(f"{agent_name} did not accept the connection in time") from error
    except (httpx.TimeoutException, TimeoutError) as error:
        raise AgentUnreachable(f"{agent_name} did not respond in time") from error
    except httpx.RequestError as error:
        if any(reason in str(error) for reason in UNKNOWN_CA):
            message = (
                f"{agent_name} belongs to another console, or to an earlier state of this one: "
                "its certificate was issued by another CA"
            )
            raise AgentUnreachable(message) from error
        raise AgentUnreachable(f"{agent_name} cannot be reached: {error or type(error).__name__}") from error
