"""Tests of the unencrypted port behind a reverse proxy, and of protection against DNS rebinding."""

from typing import Any

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.app_factory import app_for
from backend.tests.support.certificates import sign

from shardboard.api.http import credentials
from shardboard.app import servers
from shardboard.console import Console
from shardboard.pki.server_certificate import validate_identity

LOGIN = {"username": USER, "password": PASSWORD}


def plain_client(console: Console, host: str = "127.0.0.1:8080", **options: Any) -> httpx.AsyncClient:
    """Return a client of the unencrypted port, on the console's machine."""
    return client_of(console, console.settings.http_port, f"http://{host}", **options)


def client_of(console: Console, port: int, base_url: str, **options: Any) -> httpx.AsyncClient:
    config = next(each for each in servers(console, app_for(console)) if each.port == port)
    config.load()
    transport = httpx.ASGITransport(config.loaded_app, client=("127.0.0.1", 40000))
    return httpx.AsyncClient(transport=transport, base_url=base_url, **options)


def configure(console: Console, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    monkeypatch.setattr(console, "settings", console.settings.model_copy(update=changes))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "localhost:8080", "LOCALHOST", "sub.localhost:1", "[::1]:8080", "127.8.9.1"]
)
async def test_loopback_names_are_accepted(console: Console, host: str) -> None:
    async with plain_client(console) as client:
        assert (await client.get("/v1/ca", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "rebound.example.com:8080", "rebound.example.com", "localhost.example.com", "127.0.0.1.example.com", "",
        "192.0.2.1", "a@localhost", "localhost:8080:1", "[::1]x", "localhost/x",
    ],
)  # fmt: skip
async def test_other_names_are_refused(console: Console, host: str) -> None:
    async with plain_client(console, auth=(USER, PASSWORD)) as client:
        for path in ("/", "/metrics", "/v1/ca", "/v1/bootstrap", "/docs", "/assets/x.js", "/none"):
            reply = await client.get(path, headers={"Host": host})
            assert (reply.status_code, reply.json()["error_code"]) == (421, "unknown_host"), path
            assert "SHARDBOARD_PUBLIC_NAMES" in reply.json()["description"]
            assert reply.headers["x-content-type-options"] == "nosniff"


async def test_public_names_are_accepted(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(console, monkeypatch, public_names=["Console.Example.org", "192.0.2.1"])
    async with plain_client(console) as client:
        for host in ("console.example.org", "console.example.org:443", "console.example.org.", "192.0.2.1"):
            assert (await client.get("/v1/ca", headers={"Host": host})).status_code == 200
        assert (await client.get("/v1/ca", headers={"Host": "example.org"})).status_code == 421


async def test_names_of_the_certificate_are_accepted(console: Console) -> None:
    signed = sign("mine", names=("elsewhere.example", "*.wild.example"))
    console.ca.apply(console.ca.state.installing(validate_identity(signed.pem, signed.key_pem).stored()))
    async with plain_client(console) as client:
        for host, status in (
            ("elsewhere.example", 200), ("a.wild.example", 200), ("wild.example", 421), ("a.b.wild.example", 421)
        ):  # fmt: skip
            assert (await client.get("/v1/ca", headers={"Host": host})).status_code == status, host


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost"])
async def test_every_listener_on_a_loopback_address_checks_names(
    console: Console, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    configure(console, monkeypatch, https_host=address)
    for port in (console.settings.https_port, console.settings.metrics_port):
        async with client_of(console, port, "https://localhost") as client:
            assert (await client.get("/metrics")).status_code == 401
            assert (await client.get("/metrics", headers={"Host": "rebound.example.com"})).status_code == 421


async def test_listeners_for_other_machines_accept_all_names(console: Console) -> None:
    async with client_of(console, console.settings.https_port, "https://any.example.com") as client:
        assert (await client.get("/v1/ca")).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"}])
async def test_plain_port_grants_no_access_without_credentials(console: Console, headers: dict[str, str]) -> None:
    async with plain_client(console, headers=headers) as client:
        assert (await client.get("/metrics")).status_code == 401
        assert (await client.get("/v1/bootstrap")).json()["local_node_info"] == {}
        client.auth = (USER, PASSWORD)
        assert (await client.get("/metrics")).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080"])
async def test_cookies_are_secure_on_the_plain_port(console: Console, host: str) -> None:
    """A proxy with TLS may send any `Host` and no other header. Browsers also accept such cookies from http://localhost."""
    async with plain_client(console, host) as client:
        reply = await client.post("/v1/session", json=LOGIN)
    [cookie] = reply.headers.get_list("set-cookie")
    assert cookie.startswith(f"{credentials.COOKIE}=")
    assert {"secure", "httponly", "samesite=strict", "path=/"} <= {each.strip().lower() for each in cookie.split(";")}


@pytest.mark.parametrize(("proxies", "source"), [([], "127.0.0.1"), (["127.0.0.1"], "192.0.2.77")])
async def test_forwarded_addresses_are_used_only_from_trusted_proxies(
    console: Console, monkeypatch: pytest.MonkeyPatch, proxies: list[str], source: str
) -> None:
    configure(console, monkeypatch, trusted_proxies=proxies)
    forwarded = {"X-Forwarded-For": "192.0.2.77", "X-Forwarded-Proto": "https"}
    async with plain_client(console, headers=forwarded, auth=(USER, PASSWORD)) as client:
        reply = await client.post("/v1/session", json=LOGIN)
        assert ("strict-transport-security" in reply.headers) is bool(proxies)
        sessions = (await client.get("/v1/users/1/sessions")).json()
    assert [each["address"] for each in sessions] == [source]
