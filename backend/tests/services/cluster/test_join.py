"""Tests of join tokens and the admission of nodes."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from sqlalchemy import func, select, update

from shardboard.console import Console
from shardboard.errors import ApiError, NotAcceptable, Unauthorized
from shardboard.kit.bus import Bus
from shardboard.pki.tls import CA_DAYS, PEER_DAYS
from shardboard.services.cluster.join import JoinRequest, JoinResponse, accept, create_token
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.join_tokens import JoinToken

pytestmark = pytest.mark.store

FACTS = {"hostname": "one"}


def csr() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


async def new_token(console: Console, addr: str | None = None) -> str:
    async with console.store.begin() as session:
        return (await create_token(session, originator="admin", addr=addr))[0]


async def join(
    console: Console, token: str, addr: str = "127.0.1.1", request: str | None = None, *, renews: bool = False
) -> JoinResponse:
    certificate_request = csr() if request is None else request
    join_request = JoinRequest(token, certificate_request, addr, 9700, FACTS, renews_certificates=renews)
    async with console.store.begin() as session:
        return await accept(session, console.ca, join_request)


async def reset_bootstrap(console: Console) -> None:
    """Set the cluster to the state after a first start with a generated administrator password."""
    async with console.store.begin() as session:
        (await cluster.load_for_update(session)).bootstrap_state = "idle"


async def count_tokens(console: Console) -> int:
    async with console.store.read() as session:
        return (await session.execute(select(func.count()).select_from(JoinToken))).scalar_one()


async def test_token_contains_the_fingerprint_and_is_stored_as_a_hash(console: Console) -> None:
    token = await new_token(console)
    prefix, secret, fingerprint = token.split(".")
    assert (prefix, fingerprint) == ("sb1", console.ca.ca_fingerprint())
    async with console.store.read() as session:
        (row,) = (await session.execute(select(JoinToken))).scalars().all()
    assert secret not in row.token_hash


@pytest.mark.parametrize(("renews", "days"), [(True, PEER_DAYS), (False, CA_DAYS)])
async def test_certificate_lifetime_depends_on_renewal_support(console: Console, renews: bool, days: int) -> None:
    admission = await join(console, await new_token(console), renews=renews)
    expiry = x509.load_pem_x509_certificate(admission.certificate.encode()).not_valid_after_utc
    assert timedelta(days=days - 1) < expiry - datetime.now(UTC) < timedelta(days=days + 1)


async def test_join_creates_a_node_and_completes_the_bootstrap(console: Console, bus: Bus) -> None:
    await reset_bootstrap(console)
    token = await new_token(console)
    with bus.listen("change") as changes:
        admission = await join(console, token, "127.0.0.2")
    assert ("change", ("node", 1)) in changes.drain()
    assert (admission.node_uid, admission.ca) == (1, console.ca.ca_pem)
    async with console.store.read() as session:
        node = await nodes.by_uid(session, 1)
        cluster_row = await cluster.load(session)
        (event,) = [e for e in await events.page(session, newest_first=False) if e.type == "node_joined"]
    assert node is not None
    assert (node.addr, node.agent_port, node.agent_status, node.facts) == ("127.0.0.2", 9700, "connected", FACTS)
    assert (cluster_row.bootstrap_state, cluster_row.name) == ("completed", admission.cluster_name)
    assert (event.node_uid, event.description) == (1, "Node 1 (127.0.0.2) joined the cluster.")


async def test_token_can_be_used_once(console: Console) -> None:
    token = await new_token(console)
    await join(console, token)
    with pytest.raises(Unauthorized, match="already used"):
        await join(console, token, "127.0.0.2")
    async with console.store.read() as session:
        assert [node.addr for node in await nodes.list_all(session)] == ["127.0.1.1"]


async def test_token_can_be_used_once_concurrently(console: Console) -> None:
    token = await new_token(console)
    attempts = await asyncio.gather(
        *(join(console, token, f"127.0.1.{n}") for n in range(1, 9)), return_exceptions=True
    )
    assert sum(isinstance(attempt, JoinResponse) for attempt in attempts) == 1
    assert sum(isinstance(attempt, Unauthorized) for attempt in attempts) == 7


async def test_concurrent_joins_get_different_uids(console: Console) -> None:
    tokens = [await new_token(console) for _ in range(6)]
    admissions = await asyncio.gather(*(join(console, token, f"127.0.1.{n}") for n, token in enumerate(tokens, 1)))
    assert sorted(admission.node_uid for admission in admissions) == [1, 2, 3, 4, 5, 6]


async def test_token_expires(console: Console) -> None:
    token = await new_token(console)
    async with console.store.begin() as session:
        await session.execute(update(JoinToken).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    with pytest.raises(Unauthorized, match="expired"):
        await join(console, token)
    await new_token(console)
    assert await count_tokens(console) == 1, "creating a token deletes expired tokens"


@pytest.mark.parametrize("token", ["", "sb1", "sb1..", "sb1.guess.00", "sb2.{secret}.{print}", "\x00"])
async def test_invalid_tokens_are_rejected(console: Console, token: str) -> None:
    _, secret, fingerprint = (await new_token(console)).split(".")
    with pytest.raises(Unauthorized):
        await join(console, token.format(secret=secret, print=fingerprint))


async def test_join_with_the_same_address_returns_the_same_node(console: Console) -> None:
    first = await join(console, await new_token(console))
    second = await join(console, await new_token(console, "127.0.1.1"))
    assert second.node_uid == first.node_uid
    assert second.certificate != first.certificate
    assert (await join(console, await new_token(console), "127.0.0.2")).node_uid == 2


async def test_address_of_an_existing_node_requires_a_token_for_it(console: Console) -> None:
    await join(console, await new_token(console))
    token = await new_token(console)
    with pytest.raises(NotAcceptable, match=r"Node 1 already has the address 127\.0\.1\.1") as refusal:
        await join(console, token)
    assert refusal.value.field == "addr"
    with pytest.raises(Unauthorized, match="for another address"):
        await join(console, await new_token(console, "127.0.0.9"))
    async with console.store.read() as session:
        assert [event.type for event in await events.page(session, newest_first=True)].count("node_joined") == 1
    assert (await join(console, token, "127.0.0.2")).node_uid == 2, "the token was not used up"


@pytest.mark.parametrize(
    "addr",
    ["", " ", "0.0.0.0", "::", "224.0.0.1", "fe80::1%eth0", "127.0.0.256", "1.2.3", "a..b", "-a", "a-", "a b", "a/b",  # noqa: S104
     "http://a", "a:9700", "x" * 64, ".".join(["x" * 60] * 5), "münchen", "[::1]"],
)  # fmt: skip
async def test_invalid_address_leaves_the_token_unused(console: Console, addr: str) -> None:
    token = await new_token(console)
    with pytest.raises(NotAcceptable) as refusal:
        await join(console, token, addr)
    assert refusal.value.field == "addr"
    assert (await join(console, token)).node_uid == 1


@pytest.mark.parametrize(
    ("addr", "stored"), [("fd00::1", "fd00::1"), ("fd00:0::1", "fd00::1"), ("Node-1.Example.ORG", "node-1.example.org")]
)
async def test_addresses_are_normalized(console: Console, addr: str, stored: str) -> None:
    await join(console, await new_token(console), addr)
    async with console.store.read() as session:
        assert [node.addr for node in await nodes.list_all(session)] == [stored]


async def test_invalid_certificate_request_changes_nothing(console: Console) -> None:
    await reset_bootstrap(console)
    token = await new_token(console)
    with pytest.raises(ApiError) as refusal:
        await join(console, token, request="garbage")
    assert refusal.value.code == "invalid_certificate"
    async with console.store.read() as session:
        assert await nodes.list_all(session) == []
        assert (await cluster.load(session)).bootstrap_state == "idle"
    assert await count_tokens(console) == 1
