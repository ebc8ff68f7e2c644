"""Orders about the console's certificate authority, all under the lock of the cluster: a node that joins meets one of them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.authority import BEHIND, Authority
from shardboard.authority_files import Request
from shardboard.domain.numerals import plural
from shardboard.errors import Conflict, Unavailable
from shardboard.external_authority import accepted, refusal
from shardboard.services.users import Principal
from shardboard.signer import Signer
from shardboard.state import cluster as clusters
from shardboard.state import events, nodes
from shardboard.state.nodes import Node


async def request(
    session: AsyncSession, authority: Authority, principal: Principal, common_name: str, organization: str
) -> Request:
    """For an authority that somebody else signs. Raises Conflict while one is being replaced."""
    await clusters.load_for_update(session)
    _insist_on_none(authority)
    async with _recorded(
        session, principal, "authority_requested", "A request for an authority of the console was made."
    ):
        return authority.request(common_name, organization)


async def look_at(session: AsyncSession, authority: Authority, chain: str) -> Signer:
    """The authority that somebody else signed (PEM). Raises what `external_authority.accepted` does, and Conflict."""
    _insist_on_none(authority)
    if authority.requested is None:
        sentence = "No request is open that this certificate could be for: make one, and have that signed."
        raise Conflict("authority_not_requested", sentence, field="certificate")
    names = await _names(session, authority)
    return await asyncio.to_thread(accepted, chain, authority.requested, authority.present, names)


async def announce(session: AsyncSession, authority: Authority, principal: Principal, chain: str) -> Signer:
    """An authority that follows: one that somebody else signed, or without `chain` a new one of our own. Raises as `look_at`."""
    chosen = await look_at(session, authority, chain) if chain else None
    await clusters.load_for_update(session)
    _insist_on_none(authority)
    if chosen is None and authority.requested is not None:
        sentence = "A request for an authority is open, and its key would be lost: withdraw it first."
        raise Conflict("authority_requested", sentence)
    whose = f", signed by {chosen.issuer}," if chosen else ""
    told = f"Another authority of the console{whose} was announced. Agents are told; clients of endpoints have to be."
    async with _recorded(session, principal, "authority_announced", told):
        return authority.announce(chosen)


async def withdraw(session: AsyncSession, authority: Authority, principal: Principal) -> None:
    """The request, or what was announced. Raises Conflict when there is neither."""
    await clusters.load_for_update(session)
    if authority.requested is None and authority.following is None:
        raise Conflict("authority_not_announced", "Neither is an authority announced nor a request open.")
    what = "announcement of another authority" if authority.following else "request for an authority"
    async with _recorded(session, principal, "authority_withdrawn", f"The {what} of the console was withdrawn."):
        authority.withdraw()


async def switch(session: AsyncSession, authority: Authority, principal: Principal) -> None:
    """To the authority that was announced. Raises Conflict when there is none, or somebody does not trust it yet."""
    await clusters.load_for_update(session)
    if authority.following is None:
        raise Conflict("authority_not_announced", "No other authority is announced.")
    every = await nodes.every(session)
    if missing := [node for node in every if waits_for(authority, node)]:
        told = "; ".join(f"node {node.uid}: {waits_for(authority, node)}" for node in missing[:10])
        more = f"; and {plural(len(missing) - 10, 'more node')}" if len(missing) > 10 else ""
        sentence = f"Who does not trust the next authority would not know the console any more. {told}{more}."
        raise Conflict("nodes_not_told", sentence)
    if authority.following.is_external:
        names = await _names(session, authority)
        if refused := await asyncio.to_thread(refusal, authority.following, names):
            raise Conflict("authority_not_suitable", refused)
    told = f"The console and its agents change to the authority that was announced, {authority.following.fingerprint}."
    async with _recorded(session, principal, "authority_switched", told):
        authority.switch()


def waits_for(authority: Authority, node: Node) -> str:
    """Why a node is in the way of the next step, or has not heard of the last; empty when neither."""
    heard, failure = authority.heard, authority.heard.failures.get(node.uid, "")
    if authority.step == "":
        return "" if node.agent_status != "connected" or failure == BEHIND else failure
    if authority.step == "shown" and heard.showing.get(node.uid) == authority.ca_fingerprint():
        return ""
    if node.agent_status != "connected":
        return "its agent is not connected: bring it back, or remove the node"
    if authority.step == "shown":
        return heard.unrenewed.get(node.uid) or "its agent shows a certificate of the former authority"
    return (
        "" if heard.trusting.get(node.uid) == authority.trusted_digest else failure or "its agent has not been told yet"
    )


async def waiting(session: AsyncSession, authority: Authority) -> Sequence[tuple[Node, str]]:
    """Every node, and why it is in the way of the next step."""
    return [(node, waits_for(authority, node)) for node in await nodes.every(session)]


async def _names(session: AsyncSession, authority: Authority) -> list[str]:
    """Hosts and addresses that it signs for."""
    return list(dict.fromkeys([*authority.names, *(node.addr for node in await nodes.every(session))]))


def _insist_on_none(authority: Authority) -> None:
    if authority.step:
        raise Conflict("authority_is_replaced", "The console's authority is being replaced: that ends first.")


@asynccontextmanager
async def _recorded(session: AsyncSession, principal: Principal, event: str, told: str) -> AsyncIterator[None]:
    """A file is changed within: what the store has against it comes first."""
    events.record(session, event, told, source="cluster", originator=principal.username)
    await session.flush()
    try:
        yield
    except OSError as error:
        sentence = f"The console's state directory cannot be written: {error.strerror}. Nothing was changed."
        raise Unavailable("state_dir_not_writable", sentence) from error
