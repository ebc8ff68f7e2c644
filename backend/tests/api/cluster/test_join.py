"""Tests of joining nodes over HTTP."""

import logging
import shlex
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for
from backend.tests.support.certificates import sign
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from shardboard.console import Console
from shardboard.contract import protocol
from shardboard.driver.fake_agents import FACTS
from shardboard.kit.bus import Bus
from shardboard.pki.server_certificate import validate_identity
from shardboard.pki.tls import PEER_DAYS, serial_of
from shardboard.state.access import users
from shardboard.state.cluster import agent_certificates, nodes

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def agent(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client without credentials."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app_for(console)), base_url="https://console") as client:
        yield client


def body(token: str) -> dict[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    csr = request.public_bytes(serialization.Encoding.PEM).decode()
    return {
        "token": token,
        "csr": csr,
        "addr": "127.0.1.1",
        "agent_port": 9700,
        "facts": FACTS.model_dump(),
    }


async def token_of(client: httpx.AsyncClient, address: str | None = None) -> str:
    payload = {"address": address} if address is not None else None
    return str((await client.post("/v1/join_tokens", json=payload)).json()["token"])


async def test_node_joins_with_a_token(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, console: Console, bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = await token_of(client)
    with bus.listen("nodes") as joined:
        reply = await agent.post("/v1/bootstrap/join", json=body(token))
    assert reply.status_code == 200
    assert joined.drain() == [("nodes", 1)]
    assert reply.json().keys() == {"node_uid", "certificate", "ca", "cluster_name"}
    assert (reply.json()["node_uid"], reply.json()["cluster_name"]) == (1, "shardboard.local")
    async with console.store.read() as session:
        (node,) = await nodes.list_all(session)
    assert (node.addr, node.facts) == ("127.0.1.1", FACTS.model_dump())
    assert token.split(".")[1] not in caplog.text


async def test_issued_certificates_are_recorded(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, console: Console
) -> None:
    for _ in range(2):  # join twice
        token = await token_of(client, body("")["addr"])
        reply = await agent.post("/v1/bootstrap/join", json=body(token))
        async with console.store.begin() as session:
            assert await agent_certificates.is_known(session, serial_of(reply.json()["certificate"]))
    async with console.store.begin() as session:
        await agent_certificates.revoke(session, 1)
        assert len(await agent_certificates.revoked_serials(session)) == 2
        await agent_certificates.delete_expired(session, datetime.now(UTC))
        assert len(await agent_certificates.revoked_serials(session)) == 2
        await agent_certificates.delete_expired(session, datetime.now(UTC) + timedelta(days=3651))
        assert await agent_certificates.revoked_serials(session) == set()


async def test_ca_is_public(agent: httpx.AsyncClient, console: Console) -> None:
    reply = await agent.get("/v1/ca")
    assert (reply.status_code, reply.text) == (200, console.ca.ca_pem)
    assert reply.headers["content-type"].startswith("text/plain")


async def test_agent_that_renews_its_certificate_gets_a_short_lived_one(
    client: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    reply = await agent.post("/v1/bootstrap/join", json=body(await token_of(client)) | {"renews": True})
    expiry = x509.load_pem_x509_certificate(reply.json()["certificate"].encode()).not_valid_after_utc
    assert expiry < datetime.now(UTC) + timedelta(days=PEER_DAYS + 1)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("localhost", "https://localhost:9443"),
        ("127.0.0.1:8080", "https://127.0.0.1:9443"),
        ("[::1]", "https://[::1]:9443"),
    ],
)
async def test_join_command_is_complete(client: httpx.AsyncClient, host: str, url: str) -> None:
    reply = await client.post(f"http://{host}/v1/join_tokens", json={"ttl": 60, "address": "10.0.0.7"})
    command = shlex.split(reply.json()["command"])
    token = reply.json()["token"]
    assert command == ["shardboard", "agent", "--join", url, "--token", token, "--address", "10.0.0.7"]


async def test_agent_states_its_zone_once(client: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    """Afterwards the console can change it, also if the agent joins again."""
    token = (await client.post("/v1/join_tokens", json={"rack_id": "zone-a"})).json()
    assert shlex.split(token["command"])[-2:] == ["--rack-id", "zone-a"]
    reply = await agent.post("/v1/bootstrap/join", json={**body(token["token"]), "rack_id": "zone-a"})
    assert reply.status_code == 200
    assert (await client.get("/v1/nodes/1")).json()["rack_id"] == "zone-a"
    await client.put("/v1/nodes/1", json={"rack_id": "zone-b"})
    again = {**body(await token_of(client, "127.0.1.1")), "rack_id": "zone-a"}
    assert (await agent.post("/v1/bootstrap/join", json=again)).status_code == 200
    assert (await client.get("/v1/nodes/1")).json()["rack_id"] == "zone-b"


async def test_node_of_a_rack_aware_cluster_needs_a_zone(client: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    await client.put("/v1/cluster/policy", json={"rack_aware": True})
    request = body(await token_of(client))
    refused = await agent.post("/v1/bootstrap/join", json=request)
    assert (refused.status_code, refused.json()["error_code"]) == (406, "rack_id_required")
    invalid = await agent.post("/v1/bootstrap/join", json={**request, "rack_id": "1 a"})
    assert (invalid.status_code, invalid.json()["field"]) == (406, "rack_id")
    assert (await agent.post("/v1/bootstrap/join", json={**request, "rack_id": "a"})).status_code == 200, (
        "the token is still valid"
    )
    again = body(await token_of(client, "127.0.1.1"))
    assert (await agent.post("/v1/bootstrap/join", json=again)).status_code == 200, "the node has a zone"


async def test_join_command_uses_a_host_name_of_an_installed_certificate(
    client: httpx.AsyncClient, console: Console
) -> None:
    signed = sign("mine", names=("elsewhere.example",))
    console.ca.apply(console.ca.state.installing(validate_identity(signed.pem, signed.key_pem).stored()))
    command = (await client.post("http://elsewhere.example/v1/join_tokens")).json()["command"]
    assert shlex.split(command)[3].startswith("https://elsewhere.example:")


async def test_join_command_uses_a_host_name_of_the_own_certificate(
    client: httpx.AsyncClient, console: Console
) -> None:
    command = (await client.post("http://elsewhere.example/v1/join_tokens")).json()["command"]
    assert shlex.split(command)[3].split("/")[2].split(":")[0] in console.ca.names


async def test_token_can_be_limited_to_one_address(client: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    token = (await client.post("/v1/join_tokens", json={"address": "10.0.0.7"})).json()["token"]
    refused = await agent.post("/v1/bootstrap/join", json={**body(token), "addr": "10.0.0.8"})
    assert (refused.status_code, refused.json()["description"]) == (401, "The join token is for another address.")
    assert (await agent.post("/v1/bootstrap/join", json={**body(token), "addr": "10.0.0.7"})).status_code == 200
    invalid = await client.post("/v1/join_tokens", json={"address": "10.0.0.7; rm -rf"})
    assert (invalid.status_code, invalid.json()["error_code"]) == (406, "config_error")


@pytest.mark.parametrize("source", ["192.0.2.9", "127.0.0.1", "127.0.0.2", "::1"])
@pytest.mark.parametrize("addr", ["127.0.0.1", "localhost", "LocalHost", "::1"])
async def test_address_of_the_console_requires_a_token_for_this_address(
    client: httpx.AsyncClient, console: Console, source: str, addr: str
) -> None:
    """Behind a reverse proxy on the console's machine, every agent has a loopback address."""
    transport = httpx.ASGITransport(app_for(console), client=(source, 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as agent:
        reply = await agent.post("/v1/bootstrap/join", json={**body(await token_of(client)), "addr": addr})
        assert (reply.status_code, reply.json()["field"]) == (406, "addr")
        assert "shardboard token --address" in reply.json()["description"]
        token = (await client.post("/v1/join_tokens", json={"address": addr})).json()["token"]
        assert (await agent.post("/v1/bootstrap/join", json={**body(token), "addr": addr})).status_code == 200


async def test_other_addresses_do_not_require_a_token_for_the_address(
    client: httpx.AsyncClient, agent: httpx.AsyncClient
) -> None:
    reply = await agent.post("/v1/bootstrap/join", json={**body(await token_of(client)), "addr": "192.0.2.9"})
    assert reply.status_code == 200


@pytest.mark.parametrize("ttl", [59, 3601, "600", 1.5])
async def test_invalid_ttl_is_refused(client: httpx.AsyncClient, ttl: object) -> None:
    assert (await client.post("/v1/join_tokens", json={"ttl": ttl})).status_code == 400


async def test_tokens_require_an_administrator(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, console: Console
) -> None:
    assert (await agent.post("/v1/join_tokens")).status_code == 401
    async with console.store.begin() as session:
        admin = await users.by_email(session, console.settings.admin_user)
        assert admin is not None
        admin.role = "cluster_member"
    assert (await client.post("/v1/join_tokens")).status_code == 403


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"token": "sb1.wrong.00"}, 401, "access_denied"),
        ({"token": 5}, 400, "bad_request"),
        ({"csr": "garbage"}, 406, "invalid_certificate"),
        ({"csr": "x" * 20000}, 413, "body_too_large"),
        ({"addr": "0.0.0.0"}, 406, "config_error"),  # noqa: S104
        ({"agent_port": 80}, 400, "bad_request"),
        ({"agent_port": 70000}, 400, "bad_request"),
        ({"facts": {}}, 400, "bad_request"),
    ],
)
async def test_invalid_join_requests_are_refused(
    client: httpx.AsyncClient,
    agent: httpx.AsyncClient,
    console: Console,
    changes: dict[str, object],
    status: int,
    code: str,
) -> None:
    token = await token_of(client)
    reply = await agent.post("/v1/bootstrap/join", json={**body(token), **changes})
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
    assert token.split(".")[1] not in reply.text
    async with console.store.read() as session:
        assert await nodes.list_all(session) == []
    assert (await agent.post("/v1/bootstrap/join", json=body(token))).status_code == 200, "the token is still valid"


async def test_agent_can_be_only_one_release_newer(client: httpx.AsyncClient, agent: httpx.AsyncClient) -> None:
    join_body = body(await token_of(client)) | {"facts": {**FACTS.model_dump(), "of_the_next_release": 1}}
    refused = await agent.post(
        "/v1/bootstrap/join", json=join_body, headers={protocol.HEADER: str(protocol.PROTOCOL + 2)}
    )
    assert (refused.status_code, refused.json()["error_code"]) == (406, "wrong_release")
    assert refused.json()["description"].startswith("The agent is too new (protocol")
    reply = await agent.post(
        "/v1/bootstrap/join", json=join_body, headers={protocol.HEADER: str(protocol.PROTOCOL + 1)}
    )
    assert reply.status_code == 200, reply.text


async def test_agent_of_another_console_is_reported(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, console: Console
) -> None:
    token = await token_of(client, "127.0.1.1")
    for request in ({"token": token, "addr": "127.0.1.2"}, {"token": "sb1.unknown.0", "addr": "127.0.1.1"}):
        assert (await agent.post("/v1/bootstrap/join_conflict", json=request)).status_code == 401
    reply = await agent.post("/v1/bootstrap/join_conflict", json={"token": token, "addr": "127.0.1.1"})
    assert (reply.status_code, reply.json()) == (200, {})
    reported = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "node_join_conflict"]
    assert [each["severity"] for each in reported] == ["WARNING"]
    assert reported[0]["description"].startswith("The agent of 127.0.1.1 did not join: it belongs to another console")
    assert (await agent.post("/v1/bootstrap/join", json=body(token))).status_code == 200, "the token is still valid"
