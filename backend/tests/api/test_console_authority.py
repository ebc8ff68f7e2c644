"""The console's authority over HTTP: two orders replace it, also by one that somebody else signed."""

from ipaddress import ip_network

import httpx
import pytest
from backend.tests.certificates import below, root
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from shardboard.agent import key
from shardboard.console import Console
from shardboard.driver.fake import FACTS, FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.errors import AgentRefused

pytestmark = pytest.mark.store_in_all

PATH = "/v1/cluster/authority"


def fingerprint(pem: str) -> str:
    return x509.load_pem_x509_certificate(pem.encode()).fingerprint(hashes.SHA256()).hex()


async def told(client: httpx.AsyncClient) -> dict[str, object]:
    reply = await client.get(PATH)
    assert reply.status_code == 200
    assert "PRIVATE" not in reply.text
    return reply.json()  # type: ignore[no-any-return]


async def test_at_rest(client: httpx.AsyncClient, console: Console) -> None:
    shown = await told(client)
    present = shown.pop("present")
    assert shown == {"step": "", "following": None, "former": None, "request": None, "nodes": []}
    assert isinstance(present, dict)
    assert (present["external"], present["fingerprint"]) == (False, console.authority.ca_fingerprint())
    assert present["subject"] == present["issuer"]
    assert present["certificate"] == (await client.get("/v1/ca/bundle")).text == (await client.get("/v1/ca")).text


async def test_two_orders(client: httpx.AsyncClient, console: Console) -> None:
    before = console.authority.ca_pem
    announced = await client.post(f"{PATH}/announce")
    assert announced.status_code == 200, announced.text
    after = announced.json()["certificate"]
    shown = await told(client)
    assert (shown["step"], shown["following"]) == ("announced", announced.json())
    assert (await client.get("/v1/ca/bundle")).text == before + after
    assert (await client.get("/v1/ca")).text == before, "who joins is shown what the token speaks of"
    own = console.certificate.identity.fingerprint
    switched = await client.post(f"{PATH}/switch")
    assert (switched.status_code, switched.json()["step"]) == (200, "shown")
    assert switched.json()["former"]["fingerprint"] == fingerprint(before)
    assert (await client.get("/v1/ca")).text == after
    assert console.certificate.identity.fingerprint != own, "browsers are shown one of the present authority"
    again = await client.post(f"{PATH}/announce")
    assert (again.status_code, again.json()["error_code"]) == (409, "authority_is_replaced")


async def test_below_somebody_elses(client: httpx.AsyncClient, console: Console) -> None:
    made = await client.post(
        f"{PATH}/request", json={"common_name": "Shardboard at Example", "organization": "Example"}
    )
    assert made.json()["subject"] == "CN=Shardboard at Example,O=Example"
    request = x509.load_pem_x509_csr(made.json()["csr"].encode())
    assert request.is_signature_valid
    assert request.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert (await told(client))["request"] == made.json()
    assert console.authority.requested is not None
    top = root()
    chain = below(top, console.authority.requested.key).pem + top.pem
    looked = await client.post(f"{PATH}/announce?dry_run=1", json={"certificate": chain})
    assert (looked.status_code, looked.json()["external"]) == (200, True)
    assert looked.json()["issuer"] == "CN=corporate root"
    assert (await told(client))["step"] == ""
    assert (await client.post(f"{PATH}/announce", json={"certificate": chain})).json() == looked.json()
    assert (await told(client))["request"] is None
    assert (await client.post(f"{PATH}/switch")).status_code == 200
    assert (await client.get("/v1/ca")).text + top.pem == chain
    assert chain in (await client.get("/v1/ca/bundle")).text
    own = console.certificate.identity.chain
    assert [each.issuer.rfc4514_string() for each in own] == ["CN=shardboard ca", "CN=corporate root"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("announce", {"certificate": root().pem}, 409, "authority_not_requested"),
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
async def test_bad_orders_change_nothing(
    client: httpx.AsyncClient, path: str, body: dict[str, object] | None, status: int, code: str
) -> None:
    before = await told(client)
    reply = await client.post(f"{PATH}/{path}", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code), reply.text
    assert await told(client) == before


async def test_a_certificate_that_does_not_serve(client: httpx.AsyncClient) -> None:
    await client.post(f"{PATH}/request")
    reply = await client.post(f"{PATH}/announce", json={"certificate": root().pem})
    assert (reply.status_code, reply.json()["field"]) == (400, "certificate")
    assert "does not match the key of the request" in reply.json()["description"]
    assert (await told(client))["request"] is not None, "the next attempt can be better"
    own = await client.post(f"{PATH}/announce")
    assert (own.status_code, own.json()["error_code"]) == (409, "authority_requested"), "its key would be lost"


async def test_a_name_that_no_other_has(client: httpx.AsyncClient) -> None:
    names = {
        (await client.post(f"{PATH}/request", json=body)).json()["subject"] for body in (None, {"common_name": " "})
    }
    assert len(names) == 2
    assert all(name.startswith("CN=Shardboard CA ") for name in names)


async def test_what_was_ordered_is_withdrawn(client: httpx.AsyncClient) -> None:
    nothing = await client.delete(f"{PATH}/next")
    assert (nothing.status_code, nothing.json()["error_code"]) == (409, "authority_not_announced")
    before = await told(client)
    for order in ("request", "announce"):
        assert (await client.post(f"{PATH}/{order}")).status_code == 200
        assert (await client.delete(f"{PATH}/next")).status_code == 200
        assert await told(client) == before
    said = [event["description"] for event in (await client.get("/v1/logs")).json()]
    assert "The announcement of a new CA of the console was withdrawn." in said
    assert "The request for a CA of the console was withdrawn." in said


@pytest.mark.usefixtures("nodes")
async def test_nodes_that_have_not_heard_are_in_the_way(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    """They are asked once more, whatever they said before: there may be another agent at that address."""
    await client.post(f"{PATH}/announce")
    waiting = (await told(client))["nodes"]
    why = "its agent does not trust the new CA yet"
    assert waiting == [{"uid": uid, "addr": f"10.0.0.{uid}", "waits_for": why} for uid in (1, 2, 3)]
    await console.trust.tell()
    assert {node["waits_for"] for node in (await told(client))["nodes"]} == {""}  # type: ignore[attr-defined]
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
async def test_an_agent_that_refuses_is_told_of_while_the_order_waits(
    client: httpx.AsyncClient, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is not locked meanwhile: others write."""
    await client.post(f"{PATH}/announce")
    tell, wrote = agents.tell_authorities, []

    async def slow(node: NodeRef, certificates: str, bundle: str) -> None:
        if node.uid == 1:
            wrote.append((await client.post("/v1/join_tokens")).status_code)
        if node.uid == 2:
            raise AgentRefused("its disk is full")
        await tell(node, certificates, bundle)

    monkeypatch.setattr(agents, "tell_authorities", slow)
    refused = await client.post(f"{PATH}/switch")
    assert (refused.status_code, wrote) == (409, [200])
    assert "node 2: its disk is full" in refused.json()["description"]
    said = [
        event["description"]
        for event in (await client.get("/v1/logs")).json()
        if "could not be sent" in event["description"]
    ]
    assert said == [
        "The trusted CAs could not be sent to the agent of node 2: its disk is full. The console retries every minute."
    ]


@pytest.mark.usefixtures("nodes")
async def test_who_joins_again_has_not_heard(client: httpx.AsyncClient, console: Console) -> None:
    await client.post(f"{PATH}/announce")
    await console.trust.tell()
    token = (await client.post("/v1/join_tokens")).json()["token"]
    body = {"token": token, "csr": key.fresh()[1], "addr": "10.0.0.2", "agent_port": 9700, "facts": FACTS.model_dump()}
    assert (await client.post("/v1/bootstrap/join", json=body)).json()["node_uid"] == 2
    waiting = {node["uid"]: node["waits_for"] for node in (await told(client))["nodes"]}  # type: ignore[attr-defined]
    assert waiting == {1: "", 2: "its agent does not trust the new CA yet", 3: ""}


async def test_an_address_that_the_authority_may_not_sign_for(client: httpx.AsyncClient, console: Console) -> None:
    await client.post(f"{PATH}/request")
    assert console.authority.requested is not None
    excluded = x509.NameConstraints(None, [x509.IPAddress(ip_network("192.0.2.0/24"))])
    chain = below(root(), console.authority.requested.key, excluded).pem
    assert (await client.post(f"{PATH}/announce", json={"certificate": chain})).status_code == 200
    assert (await client.post(f"{PATH}/switch")).status_code == 200
    token = (await client.post("/v1/join_tokens")).json()["token"]
    body = {"token": token, "csr": key.fresh()[1], "addr": "192.0.2.9", "agent_port": 9700, "facts": FACTS.model_dump()}
    reply = await client.post("/v1/bootstrap/join", json=body)
    assert (reply.status_code, reply.json()["field"]) == (406, "addr")
    assert "excluded subtree violation" in reply.json()["description"]
    assert (await client.post("/v1/bootstrap/join", json=body | {"addr": "10.0.0.9"})).status_code == 200


async def test_a_token_of_before_joins_nobody(client: httpx.AsyncClient) -> None:
    """Its agent trusts the former authority only."""
    token = (await client.post("/v1/join_tokens")).json()["token"]
    await client.post(f"{PATH}/announce")
    await client.post(f"{PATH}/switch")
    body = {"token": token, "csr": key.fresh()[1], "addr": "192.0.2.9", "agent_port": 9700, "facts": FACTS.model_dump()}
    reply = await client.post("/v1/bootstrap/join", json=body)
    assert reply.status_code == 401
    assert "CA was replaced after this join token was created" in reply.json()["description"]
    body["token"] = (await client.post("/v1/join_tokens")).json()["token"]
    assert (await client.post("/v1/bootstrap/join", json=body)).status_code == 200
