"""A user who signs in from her own browser, and her authenticator app."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from backend.tests.conftest import PASSWORD
from backend.tests.support.app_factory import app_for
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from shardboard.console import Console
from shardboard.services.access import passwords
from shardboard.settings import Settings

ANN = {"email": "ann@example.org", "password": "correct horse", "role": "db_viewer"}
FORM = {"username": ANN["email"], "password": ANN["password"]}


def generated_password(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return settings without an administrator password. The password that the first start generates is PASSWORD."""
    monkeypatch.setattr(passwords, "generate", lambda: PASSWORD)
    return settings.model_copy(update={"admin_password": None})


async def add_ann(client: httpx.AsyncClient) -> int:
    """Create the user ANN, and return her uid."""
    uid: int = (await client.post("/v1/users", json=ANN)).json()["uid"]
    return uid


@asynccontextmanager
async def browser_of(console: Console, number: int = 0) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app_for(console, number), client=("192.0.2.9", 40000))
    headers = {"X-Requested-With": "shardboard"}
    async with httpx.AsyncClient(transport=transport, base_url="https://console", headers=headers) as browser:
        yield browser


async def log_in(browser: httpx.AsyncClient, **more: str) -> tuple[int, str]:
    reply = await browser.post("/v1/session", json={**FORM, **more})
    return reply.status_code, reply.json().get("error_code", "")


def code_of(secret: str, at: float) -> str:
    """Return the code that the authenticator app displays at the Unix time `at`."""
    return TOTP(base64.b32decode(secret), 6, SHA1(), 30).generate(at).decode()  # noqa: S303
