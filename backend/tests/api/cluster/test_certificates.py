"""Tests of certificates over HTTP: returned without keys, and replaced by administrators."""

import httpx
import pytest
from backend.tests.support.certificates import sign
from cryptography import x509
from sqlalchemy import select

from shardboard.console import Console
from shardboard.state.alerting.events import Event

GOOD = {"name": "db", "memory_size": 2**30}
pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def test_certificates_are_returned_without_keys(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/bdbs", json=GOOD)).json()["uid"]
    reply = await client.get("/v1/cluster/certificates")
    assert reply.status_code == 200
    assert "PRIVATE" not in reply.text
    certificates = reply.json()
    [bdb_certificate] = certificates["data_internode_encryption"]
    assert bdb_certificate["uid"] == uid
    certificate = x509.load_pem_x509_certificate(bdb_certificate["certificate"].encode())
    assert f"{certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}" == bdb_certificate["valid_until"]
    api_certificate = x509.load_pem_x509_certificate(certificates["api_cert"].encode())
    api_certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(certificates["ca_cert"].encode()))


@pytest.mark.parametrize("body", [None, {}, {"name": "data_internode_encryption"}])
async def test_database_certificates_are_replaced(client: httpx.AsyncClient, body: dict[str, str] | None) -> None:
    await client.post("/v1/bdbs", json=GOOD)
    unencrypted = GOOD | {"name": "clear", "data_internode_encryption": False}
    assert (await client.post("/v1/bdbs", json=unencrypted)).status_code == 200
    before = (await client.get("/v1/cluster/certificates")).json()["data_internode_encryption"]
    reply = await client.post("/v1/cluster/certificates/rotate", json=body)
    assert (reply.status_code, reply.json()) == (200, {"databases": 1})
    after = (await client.get("/v1/cluster/certificates")).json()["data_internode_encryption"]
    assert len(before) == len(after) == 1
    assert before[0]["certificate"] != after[0]["certificate"]


async def test_database_cas_are_replaced_in_steps(client: httpx.AsyncClient) -> None:
    await client.post("/v1/bdbs", json=GOOD)
    [before] = (await client.get("/v1/cluster/certificates")).json()["data_internode_encryption"]
    reply = await client.post("/v1/cluster/certificates/rotate", json={"authority": True})
    assert (reply.status_code, reply.json()) == (200, {"databases": 1})
    [after] = (await client.get("/v1/cluster/certificates")).json()["data_internode_encryption"]
    assert (before["replacing"], after["replacing"]) == ("", "announced")
    assert before["authority"] == after["authority"], "until all shards trust the next CA as well"
    issuer = x509.load_pem_x509_certificate(before["certificate"].encode()).issuer.rfc4514_string()
    assert "Shardboard database" in issuer
    assert len(before["authority"]) == 64
    logs = (await client.get("/v1/logs")).json()
    assert [event["description"] for event in logs if event["type"] == "certificates_rotated"] == [
        "New CAs for the shards of 1 database were requested."
    ]


async def test_other_certificates_cannot_be_rotated(client: httpx.AsyncClient) -> None:
    reply = await client.post("/v1/cluster/certificates/rotate", json={"name": "api"})
    assert (reply.status_code, reply.json()["error_code"]) == (403, "not_supported")


async def test_database_is_encrypted_unless_disabled_by_it_or_the_policy(client: httpx.AsyncClient) -> None:
    async def is_encrypted(**fields: object) -> bool:
        bdb = (await client.post("/v1/bdbs", params={"dry_run": "true"}, json=GOOD | fields)).json()
        return bool(bdb["data_internode_encryption"])

    assert await is_encrypted()
    assert not await is_encrypted(data_internode_encryption=False)
    await client.put("/v1/cluster/policy", json={"data_internode_encryption": False})
    assert not await is_encrypted()
    assert await is_encrypted(data_internode_encryption=True)


async def test_encryption_cannot_be_changed_after_creation(client: httpx.AsyncClient) -> None:
    uid = (await client.post("/v1/bdbs", json=GOOD)).json()["uid"]
    reply = await client.put(f"/v1/bdbs/{uid}", json={"data_internode_encryption": False})
    assert reply.status_code in (406, 409)
    assert "shard_certificates" not in (await client.get(f"/v1/bdbs/{uid}")).text


async def test_custom_console_certificate_is_installed_and_removed(client: httpx.AsyncClient, console: Console) -> None:
    signed = sign("mine", names=("console.example.com", "b.example.com"))
    body = {
        "certificates": [{"name": name, "certificate": signed.pem, "key": signed.key_pem} for name in ("api", "cm")]
    }
    dry = await client.put("/v1/cluster/certificates", params={"dry_run": "true"}, json=body)
    assert (dry.status_code, console.certificate.source) == (200, "own")
    reply = await client.put("/v1/cluster/certificates", json=body)
    assert (reply.status_code, reply.json()) == (200, dry.json())
    certificates = (await client.get("/v1/cluster/certificates")).json()
    assert certificates["console"] == reply.json()
    assert (certificates["console"]["source"], certificates["console"]["names"]) == (
        "installed",
        ["b.example.com", "console.example.com"],
    )
    assert certificates["api_cert"] == certificates["cm_cert"] == certificates["metrics_exporter_cert"] == signed.pem
    async with console.store.read() as session:
        [event] = await session.scalars(select(Event).where(Event.type == "certificate_installed"))
    assert "console.example.com" in event.description
    assert (await client.delete("/v1/cluster/certificates/api")).status_code == 200
    assert (await client.get("/v1/cluster/certificates")).json()["console"]["source"] == "own"
    repeated = await client.delete("/v1/cluster/certificates/api")
    assert (repeated.status_code, repeated.json()["error_code"]) == (403, "required_certificate")
    assert (await client.delete("/v1/cluster/certificates/nobody")).status_code == 404


async def test_update_cert_installs_a_certificate(client: httpx.AsyncClient, console: Console) -> None:
    signed = sign("mine")
    body = {"name": "metrics_exporter", "certificate": signed.pem, "key": signed.key_pem}
    assert (await client.put("/v1/cluster/update_cert", json=body)).status_code == 200
    assert console.certificate.identity.chain == (signed.certificate,)


@pytest.mark.parametrize("name", ["proxy", "syncer", "nobody", ""])
async def test_unsupported_certificate_names_are_refused(
    client: httpx.AsyncClient, console: Console, name: str
) -> None:
    signed = sign("mine")
    body = {"name": name, "certificate": signed.pem, "key": signed.key_pem}
    reply = await client.put("/v1/cluster/update_cert", json=body)
    assert (reply.status_code, reply.json()["error_code"], console.certificate.source) == (403, "not_supported", "own")


async def test_invalid_certificates_are_refused_without_changes(client: httpx.AsyncClient, console: Console) -> None:
    signed, other = sign("mine"), sign("other")
    valid = {"name": "api", "certificate": signed.pem, "key": signed.key_pem}
    for certificates, status in (
        ([], 400),
        ([valid | {"key": other.key_pem}], 400),
        ([valid, {"name": "cm", "certificate": other.pem, "key": other.key_pem}], 400),
        ([valid | {"certificate": "x" * 70_000}], 400),
    ):
        reply = await client.put("/v1/cluster/certificates", json={"certificates": certificates})
        assert (reply.status_code, console.certificate.source) == (status, "own")
        assert "PRIVATE KEY" not in reply.text.replace("-----BEGIN PRIVATE KEY-----.", "")
