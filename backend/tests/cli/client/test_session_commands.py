"""Tests of `shardboard login`, `logout`, and `context`, and of the choice of the console."""

import asyncio
import json
import stat
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import ANN, add_ann, browser_of, log_in
from backend.tests.cli.client.conftest import URL, Cli, FakeConsole, Run

from shardboard.cli.client import connection, contexts
from shardboard.cli.client.session_commands import _trusted_ca, fingerprint_of
from shardboard.console import Console
from shardboard.pki.signer import CertificateAuthority
from shardboard.services.access import device_logins
from shardboard.services.access.device_logins import DeviceLoginStatus
from shardboard.settings import Settings


async def test_administrator_gets_a_service_token_that_logout_deletes(
    cli: Cli, client: httpx.AsyncClient, settings: Settings, tmp_path: Path
) -> None:
    assert settings.configured_password is not None
    (tmp_path / "password").write_text(settings.configured_password + "\n")
    result = await cli("login", URL, "--user", settings.admin_user, "--password-file", str(tmp_path / "password"))
    assert result.status == 0, result.err
    context = contexts.load().get(None)
    assert context is not None
    assert context.token.startswith("sbt_")
    assert stat.S_IMODE(contexts.contexts_file().stat().st_mode) == 0o600
    assert [each["uid"] for each in (await client.get("/v1/service_tokens")).json()] == [context.service_token_uid]
    assert (await cli("logout")).status == 0
    assert (await client.get("/v1/service_tokens")).json() == []
    assert contexts.load() == contexts.Contexts()


async def test_user_without_the_right_to_create_tokens_gets_one_for_a_day(
    cli: Cli, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    body = {"email": "eve@example.org", "name": "Eve", "password": "a-Long-password-1", "role": "cluster_viewer"}
    assert (await client.post("/v1/users", json=body)).status_code == 200
    (tmp_path / "password").write_text(body["password"])
    result = await cli("login", URL, "--user", body["email"], "--password-file", str(tmp_path / "password"))
    assert result.status == 0, result.err
    assert "(cluster_viewer) until" in result.out
    context = contexts.load().get(None)
    assert context is not None
    assert context.service_token_uid is None
    assert (await cli("node", "list")).status == 0


async def test_wrong_password_is_reported_and_nothing_is_stored(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("wrong-password")
    result = await cli("login", URL, "--user", "admin@example.org", "--password-file", str(tmp_path / "password"))
    assert result.status == 4
    assert not contexts.contexts_file().exists()


async def test_fingerprint_must_be_that_of_the_console(cli: Cli, client: httpx.AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("x")
    result = await cli(
        "login", URL, "--fingerprint", "00" * 32, "--user", "a", "--password-file", str(tmp_path / "password")
    )
    assert result.status == 1
    assert fingerprint_of((await client.get("/v1/ca")).text) in result.err


async def test_only_the_certificate_with_the_fingerprint_is_trusted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The download of the CA is not protected, and its text could contain a second certificate."""
    # Base64 with padding: decoders ignore what follows it.
    ca = next(each for each in map(CertificateAuthority.create, "abcdef", repeat(10)) if "=" in each.pem)
    text = ca.pem + CertificateAuthority.create("other", 10).pem
    monkeypatch.setattr(connection, "TRANSPORT", httpx.MockTransport(lambda _: httpx.Response(200, text=text)))
    assert _trusted_ca(URL, fingerprint_of(ca.pem)) == ca.pem


@pytest.mark.parametrize(
    "url", ["http://localhost.example.org", "http://127.0.0.1.example.org", "http://localhost@example.org"]
)
async def test_credentials_are_not_sent_to_other_machines_without_tls(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    (tmp_path / "password").write_text("x")
    result = await cli("login", url, "--user", "a", "--password-file", str(tmp_path / "password"))
    assert (result.status, "is not a URL such as https://" in result.err) == (1, True)
    monkeypatch.setenv("SHARDBOARD_URL", url)
    monkeypatch.setenv("SHARDBOARD_TOKEN", "x")
    assert "is not a URL such as https://" in (await cli("node", "list")).err


async def test_contexts_are_listed_and_chosen(signed_in: Cli) -> None:
    known = contexts.load()
    context = known.get(None)
    assert context is not None
    contexts.save(known.with_context("other", context))
    assert (await signed_in("context", "list")).out.splitlines()[2].startswith("*  other")
    assert (await signed_in("context", "use", "console.example.org")).status == 0
    assert contexts.load().current == "console.example.org"
    missing = await signed_in("context", "use", "nonsense")
    assert (missing.status, "does not exist (contexts: console.example.org, other)" in missing.err) == (1, True)


async def test_environment_has_priority_over_the_current_context(
    signed_in: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARDBOARD_URL", URL)
    result = await signed_in("db", "list")
    assert (result.status, "SHARDBOARD_TOKEN" in result.err) == (1, True)
    monkeypatch.setenv("SHARDBOARD_TOKEN", "sbt_nonsense")
    assert (await signed_in("db", "list")).status == 4


async def test_damaged_file_of_contexts_is_reported(cli: Cli) -> None:
    contexts.contexts_file().write_text(json.dumps({"contexts": []}))
    result = await cli("db", "list")
    assert (result.status, "correct or delete it" in result.err) == (1, True)


async def test_command_without_a_console_says_how_to_sign_in(cli: Cli) -> None:
    result = await cli("db", "list")
    assert (result.status, "shardboard login URL" in result.err) == (1, True)


async def test_sign_in_is_confirmed_in_a_browser(
    cli: Cli, console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_logins, "POLL_SECONDS", 0)
    monkeypatch.setattr(device_logins.secrets, "choice", lambda letters: letters[0])
    status_of, polled = device_logins.status_of, asyncio.Event()

    async def signal_poll(*arguments: Any) -> DeviceLoginStatus:
        polled.set()
        return await status_of(*arguments)

    monkeypatch.setattr(device_logins, "status_of", signal_poll)
    await add_ann(client)
    result = asyncio.create_task(cli("login", URL, "--device", "--user", ANN["email"]))
    async with browser_of(console) as browser:
        assert (await log_in(browser))[0] == 200
        await polled.wait()
        body = {"user_code": "BBBB-BBBB", "approve": True}
        assert (await browser.post("/v1/device_logins/confirm", json=body)).status_code == 200
    signed_in = await result
    assert signed_in.status == 0, signed_in.err
    assert f"Open {URL}/device in a browser" in signed_in.err
    assert f"as {ANN['email']} (db_viewer) until" in signed_in.out
    context = contexts.load().get(None)
    assert context is not None
    assert context.token not in signed_in.out + signed_in.err
    assert (await cli("node", "list")).status == 0
    assert (await cli("logout")).status == 0
    assert (await client.get("/v1/service_tokens")).json() == []


@pytest.mark.parametrize(
    ("reply", "message"), [({"status": "denied"}, "was denied"), (None, "was not confirmed in time; sign in again")]
)
def test_sign_in_that_is_not_confirmed_stores_nothing(
    fake_console: FakeConsole,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    reply: dict[str, str] | None,
    message: str,
) -> None:
    monkeypatch.setenv("SHARDBOARD_CONTEXTS_FILE", str(tmp_path / "contexts.json"))
    started = {"device_code": "secret", "user_code": "B", "page": "/device", "expires_in": 600, "interval": 0}
    fake_console.replies = {"GET /v1/bootstrap": {}, "POST /v1/device_logins": started}
    if reply is not None:
        fake_console.replies["POST /v1/device_logins/token"] = reply
    result = run("login", URL, "--device")
    assert (result.status, message in result.err) == (4, True)
    assert not contexts.contexts_file().exists()
