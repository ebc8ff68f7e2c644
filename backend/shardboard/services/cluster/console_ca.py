"""Operations on the console's private CA. They lock the cluster row, so that a joining node sees a consistent state."""

import asyncio
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.text import plural
from shardboard.errors import Conflict
from shardboard.pki.certificate_state import CaRequest, CertificateState, new_ca
from shardboard.pki.console_ca import AGENT_OUTDATED, ConsoleCa
from shardboard.pki.intermediate_ca import rejection_reason, validate_intermediate_ca
from shardboard.pki.signer import CertificateAuthority
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_certificates as certificates
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node


async def create_signing_request(
    session: AsyncSession, ca: ConsoleCa, principal: Principal, common_name: str, organization: str
) -> CaRequest:
    """Create a certificate signing request for an intermediate CA. Raises Conflict while the CA is being replaced."""
    state = await _locked(session, ca)
    _require_no_replacement(ca)
    request = CaRequest.create(common_name, organization)
    _record(session, principal, "authority_requested", "A signing request for a console CA was created.")
    await certificates.replace(session, ca, state.requesting(request))
    return request


async def check_certificate(session: AsyncSession, ca: ConsoleCa, chain: str) -> CertificateAuthority:
    """Check the certificate of a CA that an external CA has signed (PEM chain), and return its signer.

    Raises Conflict, and the errors of `external_authority.accepted`.
    """
    await certificates.follow(session, ca)
    _require_no_replacement(ca)
    if ca.requested is None:
        raise _not_requested()
    names = await _names(session, ca)
    return await asyncio.to_thread(validate_intermediate_ca, chain, ca.requested, ca.current, names)


async def announce(session: AsyncSession, ca: ConsoleCa, principal: Principal, chain: str) -> CertificateAuthority:
    """Announce the next CA: the one in `chain`, signed by an external CA, or without `chain` a new private CA.

    Raises the errors of `check_certificate`.
    """
    next_ca = await check_certificate(session, ca, chain) if chain else None  # slow, so before the lock
    state = await _locked(session, ca)
    _require_no_replacement(ca)
    if next_ca is not None and not _is_answer(next_ca, state.requested):
        raise _not_requested()
    if next_ca is None and ca.requested is not None:
        message = "A request for a CA is open, and its key would be lost: withdraw the request first."
        raise Conflict("authority_requested", message)
    issuer = f", signed by {next_ca.issuer}," if next_ca else ""
    description = (
        f"A new console CA{issuer} was announced. Agents trust it automatically; configure clients of endpoints."
    )
    announced = next_ca or new_ca()
    _record(session, principal, "authority_announced", description)
    await certificates.replace(session, ca, state.announcing(announced))
    return announced


async def withdraw(session: AsyncSession, ca: ConsoleCa, principal: Principal) -> None:
    """Withdraw the open request or the announced CA. Raises Conflict if there is neither."""
    state = await _locked(session, ca)
    if ca.requested is None and ca.next_ca is None:
        raise Conflict("authority_not_announced", "No CA is announced and no request is open.")
    object_name = "announcement of a new console CA" if ca.next_ca else "request for a console CA"
    _record(session, principal, "authority_withdrawn", f"The {object_name} was withdrawn.")
    await certificates.replace(session, ca, state.withdrawn())


async def switch(session: AsyncSession, ca: ConsoleCa, principal: Principal) -> None:
    """Switch to the announced CA. Raises Conflict if none is announced or a node does not trust it yet."""
    state = await _locked(session, ca)
    if ca.next_ca is None:
        raise Conflict("authority_not_announced", "No new CA is announced.")
    all_nodes = await nodes.list_all(session)
    if missing := [node for node in all_nodes if blocking_reason(ca, node)]:
        description = "; ".join(f"node {node.uid}: {blocking_reason(ca, node)}" for node in missing[:10])
        suffix = f"; and {plural(len(missing) - 10, 'more node')}" if len(missing) > 10 else ""
        message = f"Nodes that do not trust the next CA would reject the console. {description}{suffix}."
        raise Conflict("nodes_not_told", message)
    if ca.next_ca.is_external:
        names = await _names(session, ca)
        if reason := await asyncio.to_thread(rejection_reason, ca.next_ca, names):
            raise Conflict("authority_not_suitable", reason)
    description = f"The console and its agents switch to the announced CA, {ca.next_ca.fingerprint}."
    _record(session, principal, "authority_switched", description)
    await certificates.replace(session, ca, state.switched())


def blocking_reason(ca: ConsoleCa, node: Node) -> str:
    """Return why a node blocks the next step or has not completed the last one; empty if it has."""
    failure = node.ca_failure
    if ca.step == "":
        return "" if node.agent_status != AgentStatus.CONNECTED or failure == AGENT_OUTDATED else failure
    if ca.step == "served" and node.presented_ca == ca.ca_fingerprint():
        return ""
    if node.agent_status != AgentStatus.CONNECTED:
        return "its agent is not connected: reconnect it, or remove the node"
    if ca.step == "served":
        return node.certificate_failure or "its agent serves a certificate of the previous CA"
    return "" if node.trusted_cas == ca.trusted_digest else failure or "its agent does not trust the new CA yet"


async def blocking_reasons(session: AsyncSession, ca: ConsoleCa) -> Sequence[tuple[Node, str]]:
    """Return all nodes, each with the reason why it blocks the next step (empty if it does not)."""
    return [(node, blocking_reason(ca, node)) for node in await nodes.list_all(session)]


async def _names(session: AsyncSession, ca: ConsoleCa) -> list[str]:
    """Return the host names and addresses for which the CA signs certificates."""
    return list(dict.fromkeys([*ca.names, *(node.addr for node in await nodes.list_all(session))]))


def _require_no_replacement(ca: ConsoleCa) -> None:
    if ca.step:
        raise Conflict(
            "authority_is_replaced", "The console CA is being replaced. Wait until the replacement is complete."
        )


def _is_answer(ca: CertificateAuthority, request: CaRequest | None) -> bool:
    return request is not None and ca.key.public_key() == request.key.public_key()


def _not_requested() -> Conflict:
    message = "There is no open request for this certificate: create a request, and have it signed."
    return Conflict("authority_not_requested", message, field="certificate")


async def _locked(session: AsyncSession, ca: ConsoleCa) -> CertificateState:
    """Lock the cluster and return the certificates, which another console may have changed."""
    await clusters.load_for_update(session)
    return await certificates.refresh(session, ca)


def _record(session: AsyncSession, principal: Principal, event: str, description: str) -> None:
    events.record(session, event, description, source="cluster", originator=principal.username)
