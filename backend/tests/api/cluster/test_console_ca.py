"""Tests of replacing the console CA over HTTP, in two steps, also by a CA that an external CA has signed."""

from ipaddress import ip_network

import httpx
import pytest
from backend.tests.support.certificates import create_root_ca, sign_intermediate_ca
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from shardboard.agent.cluster import key_generation
from shardboard.console import Console
from shardboard.driver.fake_agents import FACTS, FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentRefused

pytestmark = pytest.mark.store_in_all

PATH = "/v1/cluster/authority"


def fingerprint(pem: str) -> str:
    return x509.load_pem_x509_certificate(pem.encode()).fingerprint(hashes.SHA256()).hex()


async def get_state(client: httpx.AsyncClient) -> dict[str, object]:
    reply = await client.get(PATH)
    assert reply.status_code == 200
    assert "PRIVATE" not in reply.text
    return reply.json()  # type: ignore[no-any-return]


async def test_state_without_a_replacement(client: httpx.AsyncClient, console: Console) -> None:
    state = await get_state(client)
    present = state.pop("present")
    assert state == {"step": "", "following": None, "former": None, "request": None, "nodes": []}
    assert isinstance(present, dict)
    assert (present["external"], present["fingerprint"]) == (False, console.ca.ca_fingerprint())
    assert present["subject"] == present["issuer"]
    assert present["certificate"] == (await client.get("/v1/ca/bundle")).text == (await client.get("/v1/ca")).text


async def test_ca_is_announced_and_switched(client: httpx.AsyncClient, console: Console) -> None:
    before = console.ca.ca_pem
    announced = await client.post(f"{PATH}/announce")
    assert announced.status_code == 200, announced.text
    after = announced.json()["certificate"]
    state = await get_state(client)
    assert (state["step"], state["following"]) == ("announced", announced.json())
    assert (await client.get("/v1/ca/bundle")).text == before + after
    assert (await client.get("/v1/ca")).text == before, "joining agents receive the CA that their token refers to"
    own_fingerprint = console.certificate.identity.fingerprint
    switched = await client.post(f"{PATH}/switch")
    assert (switched.status_code, switched.json()["step"]) == (200, "shown")
    assert switched.json()["former"]["fingerprint"] == fingerprint(before)
    assert (await client.get("/v1/ca")).text == after
    assert console.certificate.identity.fingerprint != own_fingerprint, (
        "browsers receive a certificate of the present CA"
    )
    repeated = await client.post(f"{PATH}/announce")
    assert (repeated.status_code, repeated.json()["error_code"]) == (409, "authority_is_replaced")


async def test_ca_signed_by_an_external_ca_is_announced_and_switched(
    client: httpx.AsyncClient, console: Console
) -> None:
    created = await client.post(
        f"{PATH}/request", json={"common_name": "Shardboard at Example", "organization": "Example"}
    )
    assert created.json()["subject"] == "CN=Shardboard at Example,O=Example"
    request = x509.load_pem_x509_csr(created.json()["csr"].encode())
    assert request.is_signature_valid
    assert request.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert (await get_state(client))["request"] == created.json()
    assert console.ca.requested is not None
    top = create_root_ca()
    chain = sign_intermediate_ca(top, console.ca.requested.key).pem + top.pem
    checked = await client.post(f"{PATH}/announce?dry_run=1", json={"certificate": chain})
    assert (checked.status_code, checked.json()["external"]) == (200, True)
    assert checked.json()["issuer"] == "CN=corporate root"
    assert (await get_state(client))["step"] == ""
    assert (await client.post(f"{PATH}/announce", json={"certificate": chain})).json() == checked.json()
    assert (await get_state(client))["request"] is None
    assert (await client.post(f"{PATH}/switch")).status_code == 200
    assert (await client.get("/v1/ca")).text + top.pem == chain
    assert chain in (await client.get("/v1/ca/bundle")).text
    own_chain = console.certificate.identity.chain
    assert [each.issuer.rfc4514_string() for each in own_chain] == ["CN=shardboard ca", "CN=corporate root"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("announce", {"certificate": create_root_ca().pem}, 409, "authority_not_requested"),
        ("announce?dry_run=1", {}, 400, "invalid_certificate"),
        ("announce", {"certificate": 1}, 400, "bad_request"),
        ("announce", {"certificate": "x" * 70000}, 400, "bad_request"),
        ("announce", {"certificate": ""}, 400, "bad_request"),
        ("request", {"common_name": "ü" * 33}, 400, "bad_request"),
        ("request", {"common_name": "\U0001f511" * 17}, 400, "bad_request"),
        ("request", {"common_name": "a\nb"}, 400, "bad_request"),
        ("request", {"organization": "o" * 65}, 400, "bad_request"),
        ("switch", None, 409, "authority_not_announced"),
    ],
)
async def test_invalid_requests_are_refused_without_changes(
    client: httpx.AsyncClient, path: str, body: dict[str, object] | None, status: int, code: str
) -> None:
    before = await get_state(client)
    reply = await client.post(f"{PATH}/{path}", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code), reply.text
    assert await get_state(client) == before


async def test_unsuitable_certificate_keeps_the_request_open(client: httpx.AsyncClient) -> None:
    await client.post(f"{PATH}/request")
    reply = await client.post(f"{PATH}/announce", json={"certificate": create_root_ca().pem})
    assert (reply.status_code, reply.json()["field"]) == (400, "certificate")
    assert "does not match the key of the request" in reply.json()["description"]
    assert (await get_state(client))["request"] is not None, "another certificate can still be announced"
    without_chain = await client.post(f"{PATH}/announce")
    assert (without_chain.status_code, without_chain.json()["error_code"]) == (409, "authority_requested"), (
        "its key would be lost"
    )


async def test_default_ca_names_are_unique(client: httpx.AsyncClient) -> None:
    names = {
        (await client.post(f"{PATH}/request", json=body)).json()["subject"] for body in (None, {"common_name": " "})
    }
    assert len(names) == 2
    assert all(name.startswith("CN=Shardboard CA ") for name in names)


async def test_request_and_announcement_can_be_withdrawn(client: httpx.AsyncClient) -> None:
    reply_to_withdrawal = await client.delete(f"{PATH}/next")
    assert (reply_to_withdrawal.status_code, reply_to_withdrawal.json()["error_code"]) == (
        409,
        "authority_not_announced",
    )
    before = await get_state(client)
    for step in ("request", "announce"):
        assert (await client.post(f"{PATH}/{step}")).status_code == 200
        assert (await client.delete(f"{PATH}/next")).status_code == 200
        assert await get_state(client) == before
    descriptions = [event["description"] for event in (await client.get("/v1/logs")).json()]
    assert "The announcement of a new console CA was withdrawn." in descriptions
    assert "The request for a console CA was withdrawn." in descriptions


@pytest.mark.usefixtures("nodes")
async def test_switch_is_refused_until_all_agents_trust_the_next_ca(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    """Agents are checked again before the switch, because a different agent may now use the address."""
    await client.post(f"{PATH}/announce")
    nodes_waiting = (await get_state(client))["nodes"]
    reason = "its agent does not trust the new CA yet"
    assert nodes_waiting == [{"uid": uid, "addr": f"10.0.0.{uid}", "waits_for": reason} for uid in (1, 2, 3)]
    await console.trust.update()
    assert {node["waits_for"] for node in (await get_state(client))["nodes"]} == {""}  # type: ignore[attr-defined]
    agents.unreachable = {2}
    refused = await client.post(f"{PATH}/switch")
    assert (refused.status_code, refused.json()["error_code"]) == (409, "nodes_not_told")
    assert "node 2: " in refused.json()["description"]
    assert "node 1: " not in refused.json()["description"]
    agents.unreachable = set()
    switched = await client.post(f"{PATH}/switch")
    assert switched.status_code == 200
    assert {node["waits_for"] for node in switched.json()["nodes"]} == {
        "its agent serves a certificate of the previous CA"
    }


@pytest.mark.usefixtures("nodes")
async def test_agent_that_refuses_the_next_ca_is_reported(
    client: httpx.AsyncClient, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is not locked while agents are called."""
    await client.post(f"{PATH}/announce")
    original, statuses = agents.set_trusted_cas, []

    async def slow(node: NodeRef, certificates: str, bundle: str) -> None:
        if node.uid == 1:
            statuses.append((await client.post("/v1/join_tokens")).status_code)
        if node.uid == 2:
            raise AgentRefused("its disk is full")
        await original(node, certificates, bundle)

    monkeypatch.setattr(agents, "set_trusted_cas", slow)
    refused = await client.post(f"{PATH}/switch")
    assert (refused.status_code, statuses) == (409, [200])
    assert "node 2: its disk is full" in refused.json()["description"]
    descriptions = [
        event["description"]
        for event in (await client.get("/v1/logs")).json()
        if "could not be sent" in event["description"]
    ]
    assert descriptions == [
        "The trusted CAs could not be sent to the agent of node 2: its disk is full. The console retries every minute."
    ]


@pytest.mark.usefixtures("nodes")
async def test_agent_that_joins_again_does_not_trust_the_next_ca_yet(
    client: httpx.AsyncClient, console: Console
) -> None:
    await client.post(f"{PATH}/announce")
    await console.trust.update()
    token = (await client.post("/v1/join_tokens", json={"address": "10.0.0.2"})).json()["token"]
    body = {
        "token": token,
        "csr": key_generation.generate()[1],
        "addr": "10.0.0.2",
        "agent_port": 9700,
        "facts": FACTS.model_dump(),
    }
    assert (await client.post("/v1/bootstrap/join", json=body)).json()["node_uid"] == 2
    reasons = {node["uid"]: node["waits_for"] for node in (await get_state(client))["nodes"]}  # type: ignore[attr-defined]
    assert reasons == {1: "", 2: "its agent does not trust the new CA yet", 3: ""}


async def test_join_from_an_address_that_the_ca_excludes_is_refused(
    client: httpx.AsyncClient, console: Console
) -> None:
    await client.post(f"{PATH}/request")
    assert console.ca.requested is not None
    excluded = x509.NameConstraints(None, [x509.IPAddress(ip_network("192.0.2.0/24"))])
    chain = sign_intermediate_ca(create_root_ca(), console.ca.requested.key, excluded).pem
    assert (await client.post(f"{PATH}/announce", json={"certificate": chain})).status_code == 200
    assert (await client.post(f"{PATH}/switch")).status_code == 200
    token = (await client.post("/v1/join_tokens")).json()["token"]
    body = {
        "token": token,
        "csr": key_generation.generate()[1],
        "addr": "192.0.2.9",
        "agent_port": 9700,
        "facts": FACTS.model_dump(),
    }
    reply = await client.post("/v1/bootstrap/join", json=body)
    assert (reply.status_code, reply.json()["field"]) == (406, "addr")
    assert "excluded subtree violation" in reply.json()["description"]
    assert (await client.post("/v1/bootstrap/join", json=body | {"addr": "10.0.0.9"})).status_code == 200


async def test_join_tokens_are_invalid_after_the_switch(client: httpx.AsyncClient) -> None:
    """An agent with such a token trusts only the former CA."""
    token = (await client.post("/v1/join_tokens")).json()["token"]
    await client.post(f"{PATH}/announce")
    await client.post(f"{PATH}/switch")
    body = {
        "token": token,
        "csr": key_generation.generate()[1],
        "addr": "192.0.2.9",
        "agent_port": 9700,
        "facts": FACTS.model_dump(),
    }
    reply = await client.post("/v1/bootstrap/join", json=body)
    assert reply.status_code == 401
    assert "CA was replaced after this join token was created" in reply.json()["description"]
    body["token"] = (await client.post("/v1/join_tokens")).json()["token"]
    assert (await client.post("/v1/bootstrap/join", json=body)).status_code == 200
