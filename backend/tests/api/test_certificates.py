"""Certificates over HTTP: told without keys, replaced by administrators."""

import httpx
import pytest
from cryptography import x509

GOOD = {"name": "db", "memory_size": 2**30}
pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


async def test_certificates_are_told_without_keys(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/bdbs", json=GOOD)).json()["uid"]
    reply = await client.get("/v1/cluster/certificates")
    assert reply.status_code == 200
    assert "PRIVATE" not in reply.text
    told = reply.json()
    [of_bdb] = told["data_internode_encryption"]
    assert of_bdb["uid"] == uid
    certificate = x509.load_pem_x509_certificate(of_bdb["certificate"].encode())
    assert f"{certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}" == of_bdb["valid_until"]
    own = x509.load_pem_x509_certificate(told["api_cert"].encode())
    own.verify_directly_issued_by(x509.load_pem_x509_certificate(told["ca_cert"].encode()))


@pytest.mark.parametrize("body", [None, {}, {"name": "data_internode_encryption"}])
async def test_those_of_databases_are_replaced(client: httpx.AsyncClient, body: dict[str, str] | None) -> None:
    await client.post("/v1/bdbs", json=GOOD)
    in_clear = GOOD | {"name": "clear", "data_internode_encryption": False}
    assert (await client.post("/v1/bdbs", json=in_clear)).status_code == 200
    before = (await client.get("/v1/cluster/certificates")).json()["data_internode_encryption"]
    reply = await client.post("/v1/cluster/certificates/rotate", json=body)
    assert (reply.status_code, reply.json()) == (200, {"databases": 1})
    after = (await client.get("/v1/cluster/certificates")).json()["data_internode_encryption"]
    assert len(before) == len(after) == 1
    assert before[0]["certificate"] != after[0]["certificate"]


async def test_others_cannot_be_replaced_so(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/cluster/certificates/rotate", json={"name": "api"})
    assert (reply.status_code, reply.json()["error_code"]) == (403, "not_supported")


async def test_a_database_is_encrypted_unless_it_or_the_policy_says_otherwise(client: httpx.AsyncClient) -> None:
    async def encrypted(**fields: object) -> bool:
        bdb = (await client.post("/v1/bdbs", params={"dry_run": "true"}, json=GOOD | fields)).json()
        return bool(bdb["data_internode_encryption"])

    assert await encrypted()
    assert not await encrypted(data_internode_encryption=False)
    await client.put("/v1/cluster/policy", json={"data_internode_encryption": False})
    assert not await encrypted()
    assert await encrypted(data_internode_encryption=True)


async def test_it_stays_as_it_was_created(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/bdbs", json=GOOD)).json()["uid"]
    reply = await client.put(f"/v1/bdbs/{uid}", json={"data_internode_encryption": False})
    assert reply.status_code in (406, 409)
    assert "shard_certificates" not in (await client.get(f"/v1/bdbs/{uid}")).text
