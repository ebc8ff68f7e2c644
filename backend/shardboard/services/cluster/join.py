"""Joining nodes to the cluster: an administrator creates a token, and the agent presents it once."""

import secrets
import string
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import AgentStatus, BootstrapPhase
from shardboard.errors import NotAcceptable, Unauthorized, Unavailable
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.intermediate_ca import rejection_reason
from shardboard.pki.tls import CA_DAYS, PEER_DAYS, serial_of
from shardboard.schemas.cluster.nodes import RACK_ID
from shardboard.services.access import passwords
from shardboard.state.alerting import events
from shardboard.state.cluster import agent_certificates, cluster, console_certificates, join_tokens, nodes
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.join_tokens import JoinToken
from shardboard.state.cluster.nodes import Node

DEFAULT_TTL = 600
PREFIX = "sb1"


@dataclass(frozen=True)
class JoinRequest:
    """A request of an agent to join the cluster."""

    token: str
    csr: str
    addr: str
    agent_port: int
    facts: dict[str, Any]
    """Facts about the node, as the agent reports them."""
    renews_certificates: bool = False
    """The agent can replace its certificate while it runs. Agents of earlier releases cannot and get a long-lived certificate."""
    rack_id: str = ""
    """Zone that the agent states; empty if it states none."""


@dataclass(frozen=True)
class JoinResponse:
    """The response to an accepted agent. Certificates are PEM."""

    node_uid: int
    certificate: str
    ca: str
    cluster_name: str


async def create_token(
    session: AsyncSession,
    *,
    originator: str,
    ttl: int = DEFAULT_TTL,
    addr: str | None = None,
) -> tuple[str, datetime]:
    """Create a join token for one address, or for any, and return it with its expiry time.

    The token contains the fingerprint of the CA, so that the agent can verify the console.
    """
    certificates = await console_certificates.find(session)
    if certificates is None:
        raise Unavailable("no_console_ca", "The store has no console CA yet: start the console of this release first.")
    now = datetime.now(UTC)
    secret = secrets.token_urlsafe(32)
    expires_at = now + timedelta(seconds=ttl)
    await join_tokens.delete_expired(session, now)
    bound_address = _check_addr(addr, "address") if addr is not None else None
    session.add(
        JoinToken(token_hash=passwords.digest(secret), expires_at=expires_at, created_by=originator, addr=bound_address)
    )
    message = f"A join token was created{f' for {bound_address}' if bound_address else ''}."
    events.record(session, "join_token_created", message, source="cluster", originator=originator)
    return f"{PREFIX}.{secret}.{certificates.current.fingerprint}", expires_at


async def accept(session: AsyncSession, ca: ConsoleCa, request: JoinRequest) -> JoinResponse:
    """Consume the token and sign the agent's certificate. A known address is the existing node with a new certificate, and requires
    a token for that address: with its certificate, an agent takes over the node and its databases."""
    token = await _take_token(session, request.token)
    addr = _check_addr(request.addr, "addr")
    if token.addr not in (None, addr):
        raise Unauthorized("access_denied", "The join token is for another address.", field="token")
    if addr in ca.names and token.addr is None:
        # With its certificate the agent could impersonate the console. A source address does not prove where the agent runs.
        message = (
            f"{addr} is an address of the console, which requires a join token for that address. Create one on the console's "
            f"machine with `shardboard token --address {addr}`, or with `POST /v1/join_tokens` and `address`."
        )
        raise NotAcceptable("config_error", message, field="addr")
    node = await nodes.by_addr(session, addr)
    if node is not None and token.addr is None:
        message = (
            f"Node {node.uid} already has the address {addr}. To replace its agent, use a join token for that address: create one "
            f"on the console's machine with `shardboard token --address {addr}`, or with `POST /v1/join_tokens` and `address`."
        )
        raise NotAcceptable("config_error", message, field="addr")
    days = PEER_DAYS if request.renews_certificates else CA_DAYS
    cluster_row = await cluster.load_for_update(session)
    await console_certificates.refresh(session, ca)  # the CA cannot change from here on
    if request.token.rpartition(".")[2].lower() != ca.ca_fingerprint():
        message = "The console CA was replaced after this join token was created. Create a new token."
        raise Unauthorized("access_denied", message, field="token")
    if ca.current.is_external and (reason := rejection_reason(ca.current, [addr])):
        raise NotAcceptable(
            "config_error", f"The console CA may not sign certificates for this address. {reason}", field="addr"
        )
    _check_zone(cluster_row, node, request.rack_id)
    certificate = ca.sign_agent(request.csr, addr, days)
    if node is None:
        node = _add_node(session, cluster_row, addr)
        message = f"Node {node.uid} ({addr}) joined the cluster."
    else:
        message = f"Node {node.uid} ({addr}) joined again, with a new certificate."
    if request.rack_id and not node.rack_id:  # the console may have changed the zone since the agent first joined
        node.config = {**node.config, "rack_id": request.rack_id}
        message += f" Its zone is {request.rack_id}."
    node.agent_port = request.agent_port
    node.agent_status = AgentStatus.CONNECTED
    node.last_seen = datetime.now(UTC)
    node.facts = request.facts
    cluster_row.bootstrap_state = BootstrapPhase.COMPLETED
    node.clear_ca_state()  # this may be a new agent, which trusts only the current CA
    node.presented_ca = ""
    valid_until = node.last_seen + timedelta(days=days)
    await agent_certificates.record(session, node.uid, serial_of(certificate), valid_until)
    events.record(session, "node_joined", message, source="node", originator=token.created_by, node_uid=node.uid)
    return JoinResponse(node.uid, certificate, ca.ca_pem, cluster_row.name)


def _check_zone(cluster_row: Cluster, node: Node | None, rack_id: str) -> None:
    """Require a valid zone, and any zone if the cluster is rack-aware."""
    if error := RACK_ID.validation_error(rack_id):
        raise NotAcceptable("config_error", f"rack_id {error}.", field="rack_id")
    if cluster_row.rules.rack_aware and not rack_id and (node is None or not node.rack_id):
        message = "The cluster is rack-aware, so a node needs a zone to join. Start the agent with --rack-id ZONE."
        raise NotAcceptable("rack_id_required", message, field="rack_id")


async def report_conflict(session: AsyncSession, token_text: str, addr: str) -> None:
    """Record that an agent has a token of this console and belongs to another one. The token remains valid."""
    token = await join_tokens.by_hash(session, passwords.digest(token_text.partition(".")[2].partition(".")[0]))
    addr = _check_addr(addr, "addr")
    if token is None or token.expires_at <= datetime.now(UTC) or token.addr not in (None, addr):
        raise Unauthorized(
            "access_denied", "The join token is unknown, expired, or for another address.", field="token"
        )
    message = (
        f"The agent of {addr} did not join: it belongs to another console, or to an earlier state of this console with another CA. "
        "To move its node to this console, stop the agent, delete agent.json in its state directory, and start it with a new join "
        "token. Its shards and endpoints keep running."
    )
    events.record(
        session, "node_join_conflict", message, source="cluster", severity="WARNING", originator=token.created_by
    )


async def _take_token(session: AsyncSession, text: str) -> JoinToken:
    prefix, _, remainder = text.partition(".")
    token = await join_tokens.take(session, passwords.digest(remainder.partition(".")[0])) if prefix == PREFIX else None
    if token is None:
        raise Unauthorized(
            "access_denied", "The join token is unknown or was already used; create a new one.", field="token"
        )
    if token.expires_at <= datetime.now(UTC):
        raise Unauthorized("access_denied", "The join token has expired; create a new one.", field="token")
    return token


def _add_node(session: AsyncSession, cluster: Cluster, addr: str) -> Node:
    node = Node(uid=cluster.next_node_uid, addr=addr, joined_at=datetime.now(UTC), accept_servers=True, config={})
    cluster.next_node_uid += 1
    session.add(node)
    return node


def _check_addr(addr: str, field: str) -> str:
    """Return a valid node address, normalized: an IP address or a DNS name. Raises NotAcceptable."""
    try:
        address = ip_address(addr)
    except ValueError:
        if _is_dns_name(addr):
            return addr.lower()
    else:
        if not (address.is_unspecified or address.is_multicast or "%" in addr):
            return str(address)
    raise NotAcceptable(
        "config_error",
        "The address of the node must be an IP address or a DNS name that the console can reach.",
        field=field,
    )


def _is_dns_name(name: str) -> bool:
    labels = name.split(".")
    return (
        len(name) <= 253
        and not labels[-1].isdigit()
        and all(
            0 < len(label) <= 63 and set(label) <= _LABEL and not label.startswith("-") and not label.endswith("-")
            for label in labels
        )
    )


_LABEL = frozenset(string.ascii_letters + string.digits + "-")
