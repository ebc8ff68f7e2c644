"""What tests of single sign-on share."""

from collections.abc import AsyncIterator

import httpx
import pytest
from backend.tests.application import app_of
from backend.tests.oidc_provider import SETTINGS, FakeProvider

from shardboard.console import Console
from shardboard.driver.oidc import OidcClient


@pytest.fixture
async def provider(console: Console, client: httpx.AsyncClient) -> FakeProvider:
    """Set, with roles by groups."""
    made = FakeProvider()
    console.oidc = OidcClient(made.transport())
    reply = await client.put("/v1/cluster/oidc", json=SETTINGS)
    assert reply.status_code == 200, reply.text
    return made


@pytest.fixture
async def browser(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """Nobody is signed in."""
    transport = httpx.ASGITransport(app=app_of(console))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as made:
        yield made
