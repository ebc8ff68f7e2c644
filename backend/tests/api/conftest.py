"""Fixtures for tests of single sign-on and of LDAP."""

from collections.abc import AsyncIterator

import httpx
import pytest
from backend.tests.support import fake_ldap as directories
from backend.tests.support.app_factory import app_for
from backend.tests.support.fake_oidc_provider import SETTINGS, FakeProvider

from shardboard.console import Console
from shardboard.driver.oidc import OidcClient


@pytest.fixture
async def provider(console: Console, client: httpx.AsyncClient) -> FakeProvider:
    """A configured identity provider, with roles assigned by groups."""
    fake_provider = FakeProvider()
    console.oidc = OidcClient(fake_provider.transport())
    reply = await client.put("/v1/cluster/oidc", json=SETTINGS)
    assert reply.status_code == 200, reply.text
    return fake_provider


@pytest.fixture
async def browser(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client that is not signed in."""
    transport = httpx.ASGITransport(app=app_for(console))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as client:
        yield client


@pytest.fixture
async def directory(console: Console, client: httpx.AsyncClient) -> directories.FakeLdapDirectory:
    """A configured LDAP directory, with two groups mapped to roles."""
    fake_directory = directories.FakeLdapDirectory()
    console.ldap = fake_directory  # type: ignore[assignment]
    reply = await client.put("/v1/cluster/ldap", json=directories.SETTINGS)
    assert reply.status_code == 200, reply.text
    for name, dn, role_uid in (("admins", directories.DBA, 1), ("shop", directories.SHOP, 4)):
        body = {"name": name, "dn": dn, "role_uids": [role_uid]}
        assert (await client.post("/v1/ldap_mappings", json=body)).status_code == 200
    return fake_directory


@pytest.fixture
async def other_network(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client in another network than `browser` that is not signed in."""
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.77", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as browser:
        yield browser
