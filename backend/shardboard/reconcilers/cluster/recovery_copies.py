"""Sends copies of the cluster and the databases to agents, from which `shardboard recover-console` rebuilds a lost store."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard import __version__
from shardboard.contract.recovery_copies import CLUSTER, MAX_COPY_BYTES, CopyVersion, RecoveryCopy, bdb_copy_name
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import run_concurrently
from shardboard.kit.tenure import current_tenure
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.recovery_seal import CA_COLUMN, seal
from shardboard.pki.signer import CertificateAuthority
from shardboard.reconcilers.load_database import node_ref
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


@dataclass(frozen=True)
class _Sealed:
    digest: str
    copy: RecoveryCopy | None
    """None: it would be too large. Agents keep an earlier one."""


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
        self._failures: dict[NodeRef, str] = {}
        """Failures that were logged."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.update()
                await asyncio.sleep(PAUSE_SECONDS)
                delay = RETRY_SECONDS if self._failures else REPEAT_SECONDS
                await changes.wait_until(lambda change: change[0] in KINDS, delay)

    async def update(self) -> None:
        """Send new versions to the connected agents that do not have them."""
        async with self._store.read() as session:
            objects = await recovery_copies.load_objects(session)
            every_node = await nodes.list_all(session)
        wanted = self._seal(objects)
        connected = [node_ref(node) for node in every_node if node.agent_status == AgentStatus.CONNECTED]
        self._held = {node: held for node, held in self._held.items() if node in connected}
        self._failures = {node: failure for node, failure in self._failures.items() if node in connected}
        await run_concurrently(
            self._send(node, {name: copy for name, (holders, copy) in wanted.items() if node.uid in holders})
            for node in connected
        )

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
        missing = [copy for name, copy in copies.items() if copy is not None and held.get(name) != copy.order]
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

    def _report(self, node: NodeRef, failure: str) -> None:
        if not failure:
            self._failures.pop(node, None)
        elif self._failures.get(node) != failure:
            self._failures[node] = failure
            log.warning("recovery copies: node %s does not have the newest copies: %s", node.uid, failure)


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
