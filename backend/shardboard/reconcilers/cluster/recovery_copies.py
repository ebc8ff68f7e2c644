"""Sends copies of the cluster and the databases to agents, from which `shardboard recover-console` rebuilds a lost store."""

import asyncio
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.contract.recovery_copies import CLUSTER, MAX_COPY_BYTES, CopyVersion, RecoveryCopy, bdb_copy_name
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import NODES_AT_ONCE, PAUSE_PER_REQUEST, run_concurrently
from shardboard.kit.tenure import current_tenure
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.recovery_seal import CA_COLUMN, seal
from shardboard.pki.recovery_shares import SharedCa, share_ca
from shardboard.pki.signer import CertificateAuthority
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting import events
from shardboard.state.cluster import nodes
from shardboard.state.data import recovery_copies
from shardboard.state.data.recovery_copies import KINDS, CopiedObject
from shardboard.store.db import Store, newest_revision

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Changes come in bursts, and each of them can concern all databases."""
RETRY_SECONDS = 10.0
"""After an agent did not get or store its copies."""
REPEAT_SECONDS = 60.0
"""Seconds after which the versions of an agent are compared again: its disk may have been replaced."""
ALARM_SECONDS = 60.0
"""Seconds for which a connected agent must lack its newest copies before an alarm is raised."""


@dataclass(frozen=True)
class _Sealed:
    digest: str
    copy: RecoveryCopy | None
    """None: it would be too large. Agents keep an earlier one."""


@dataclass(frozen=True)
class _Failure:
    reason: str
    since: float


Wanted = Mapping[str, RecoveryCopy | None]
"""The copies of a node by name, as in `_Sealed`."""


class RecoveryCopiesLoop:
    """`update` runs one iteration. A leader sends all copies once: its term makes them newer than those of the previous one."""

    def __init__(self, store: Store, bus: Bus, agents: Agents, ca: ConsoleCa) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._ca = ca
        self._counter = 0
        self._sealed: dict[str, _Sealed] = {}
        self._held: dict[NodeRef, tuple[Mapping[str, tuple[int, int]], float]] = {}
        """By connected node: the versions that its agent has, and when it reported them."""
        self._shared = SharedCa("", {})
        self._failures: dict[NodeRef, _Failure] = {}
        """By connected node: why its agent does not have the newest copies."""
        self._alarms: dict[int, str] | None = None
        """Reasons in the active alarms by uid of the node. None: not read yet."""

    async def run(self) -> None:
        """Run until cancelled."""
        clock = asyncio.get_running_loop().time
        with self._bus.listen("change") as changes:
            while True:
                start = clock()
                connected = await self.update()
                work = min(clock() - start, PAUSE_SECONDS)  # an agent that does not respond takes longer
                await asyncio.sleep(max(PAUSE_SECONDS, 4 * work, PAUSE_PER_REQUEST * connected))
                delay = RETRY_SECONDS if self._failures else REPEAT_SECONDS
                await changes.wait_until(lambda change: change[0] in KINDS, delay)

    async def update(self) -> int:
        """Send new versions to the connected agents that do not have them. Return the number of connected agents."""
        async with self._store.read() as session:
            objects = await recovery_copies.load_objects(session)
            every_node = await nodes.list_all(session)
        wanted = self._seal(objects)
        connected = {node_ref(node) for node in every_node if node.agent_status == AgentStatus.CONNECTED}
        self._held = {node: held for node, held in self._held.items() if node in connected}
        self._failures = {node: failure for node, failure in self._failures.items() if node in connected}
        sends = (
            self._send(node, {name: copy for name, (holders, copy) in wanted.items() if node.uid in holders})
            for node in connected
        )
        await run_concurrently(sends, NODES_AT_ONCE)
        await self._record_alarms(connected)
        return len(connected)

    def _seal(self, objects: Sequence[CopiedObject]) -> dict[str, tuple[frozenset[int], RecoveryCopy | None]]:
        """Return the copies by name, with the uids of their nodes. Unchanged objects keep their version."""
        ca, keys, tenure = self._ca.current, self._store.keys, current_tenure()
        term = tenure.term if tenure is not None else 0
        wrapped = keys.encrypt(ca.stored().decode(), CA_COLUMN) if keys is not None else ""
        sealed: dict[str, _Sealed] = {}
        found: dict[str, tuple[frozenset[int], RecoveryCopy | None]] = {}
        for each in objects:
            name = CLUSTER if each.uid is None else bdb_copy_name(each.uid)
            # The term is raised during a tenure if agents know a higher one. They refuse copies of the lower one.
            digest = f"{each.digest} {ca.fingerprint} {keys.first if keys is not None else ''} {term}"
            if (known := self._sealed.get(name)) is None or known.digest != digest:
                self._counter += 1
                version = CopyVersion(name=name, term=term, counter=self._counter)
                if each.uid is None:
                    self._shared = share_ca(ca, each.nodes)
                known = _Sealed(digest, _sealed_copy(ca, version, each, wrapped if each.uid is None else ""))
            sealed[name] = known
            found[name] = (each.nodes, known.copy)
        self._sealed = sealed
        return found

    async def _send(self, node: NodeRef, copies: Wanted) -> None:
        now = asyncio.get_running_loop().time()
        held, at = self._held.get(node, ({}, 0.0))
        if _has_all(held, copies) and at > now - REPEAT_SECONDS:
            self._report(node, _too_large(copies))
            return
        missing = [
            self._shared.add_to(copy, node.uid) if name == CLUSTER else copy
            for name, copy in copies.items()
            if copy is not None and held.get(name) != copy.order
        ]
        try:
            reported = await self._agents.keep_copies(node, missing, list(copies))
        except AgentError as error:  # unreachable, or of the previous release
            self._held.pop(node, None)
            self._report(node, error.reason)
            return
        self._held[node] = ({each.name: each.order for each in reported}, now)
        has_all = _has_all(self._held[node][0], copies)
        failure = "" if has_all else "its agent did not store all of them; see the log of the agent"
        self._report(node, failure or _too_large(copies))

    def _report(self, node: NodeRef, reason: str) -> None:
        known = self._failures.get(node)
        if not reason:
            self._failures.pop(node, None)
        elif known is None or known.reason != reason:
            now = asyncio.get_running_loop().time()
            self._failures[node] = _Failure(reason, known.since if known is not None else now)
            log.warning("recovery copies: node %s does not have the newest copies: %s", node.uid, reason)

    async def _record_alarms(self, connected: Collection[NodeRef]) -> None:
        """Raise and end the alarms of connected nodes. Alarms of other nodes do not change."""
        if self._alarms is None:
            async with self._store.read() as session:
                spans = await events.list_open_spans(session, events.RECOVERY_COPIES)
            self._alarms = {span.node_uid: span.details["reason"] for span in spans if span.node_uid is not None}
        before = asyncio.get_running_loop().time() - ALARM_SECONDS
        for node in connected:
            failure, alarm = self._failures.get(node), self._alarms.get(node.uid)
            if failure is None and alarm is not None:
                async with self._store.begin() as session:
                    await _end_alarm(session, node.uid)
                del self._alarms[node.uid]
            elif failure is not None and failure.reason != alarm and failure.since <= before:
                async with self._store.begin() as session:
                    await _raise_alarm(session, node.uid, failure.reason)
                self._alarms[node.uid] = failure.reason


async def _raise_alarm(session: AsyncSession, node_uid: int, reason: str) -> None:
    """Raise the alarm of a node, or change its reason."""
    message = f"Node {node_uid} did not have the newest copies for a recovery of the console: {reason}."
    details = {"open": True, "reason": reason}
    span = await events.open_span(session, events.RECOVERY_COPIES, node_uid=node_uid)
    if span is not None:
        span.description, span.details = message, details
    else:
        events.record(
            session,
            events.RECOVERY_COPIES,
            message,
            source="node",
            severity="WARNING",
            node_uid=node_uid,
            details=details,
        )


async def _end_alarm(session: AsyncSession, node_uid: int) -> None:
    span = await events.open_span(session, events.RECOVERY_COPIES, node_uid=node_uid)
    if span is not None:
        span.end()


def _has_all(held: Mapping[str, tuple[int, int]], copies: Wanted) -> bool:
    """Return whether an agent has the newest versions of all copies that can be sent, and no others."""
    newest = all(copy is None or held.get(name) == copy.order for name, copy in copies.items())
    return newest and held.keys() <= copies.keys()


def _too_large(copies: Wanted) -> str:
    """Return which copies cannot be sent; empty if there are none."""
    names = [name for name, copy in copies.items() if copy is None]
    return f"too large: {', '.join(names)}" if names else ""


def _sealed_copy(
    ca: CertificateAuthority, version: CopyVersion, each: CopiedObject, wrapped: str
) -> RecoveryCopy | None:
    plain = json.dumps({"release": __version__, "revision": newest_revision(), **each.content}).encode()
    try:
        return seal(ca, version, plain, wrapped)
    except ValueError:
        log.error("recovery copies: the copy %s would have more than %s bytes", version.name, MAX_COPY_BYTES)
        return None
