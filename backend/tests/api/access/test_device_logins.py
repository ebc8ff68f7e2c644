"""Tests of the sign-in of programs that a user confirms in a browser, and of attacks on it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import ANN, add_ann, browser_of, log_in
from backend.tests.support.app_factory import app_for
from sqlalchemy import text, update

from shardboard.console import Console
from shardboard.services.access import device_logins as service
from shardboard.state.access.device_logins import DeviceCodeFailures, DeviceLogin

pytestmark = pytest.mark.store
PATH = "/v1/device_logins"


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> int:
    return await add_ann(client)


@pytest.fixture
async def browser(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as browser:
        assert (await log_in(browser))[0] == 200
        yield browser


@pytest.fixture
async def program(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.44", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as program:
        yield program


async def start(program: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await program.post(PATH, json={"name": "build-7", **fields})
    assert reply.status_code == 200, reply.text
    started: dict[str, Any] = reply.json()
    return started


async def poll(program: httpx.AsyncClient, started: dict[str, Any]) -> dict[str, Any]:
    reply = await program.post(f"{PATH}/token", json={"device_code": started["device_code"]})
    return {"http_status": reply.status_code, **reply.json()}


async def decide(browser: httpx.AsyncClient, code: str, *, approve: bool = True) -> int:
    return (await browser.post(f"{PATH}/confirm", json={"user_code": code, "approve": approve})).status_code


async def signed_in_program(program: httpx.AsyncClient, browser: httpx.AsyncClient) -> dict[str, Any]:
    """Sign in a program. Return its token, with its headers."""
    started = await start(program)
    assert await decide(browser, started["user_code"]) == 200
    state = await poll(program, started)
    assert state["status"] == "approved", state
    return {**state, "headers": {"Authorization": f"Bearer {state['token']}"}}


async def test_program_gets_a_token_with_the_role_of_the_user_who_confirms(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    started = await start(program, ttl=86_400)
    assert (await poll(program, started))["status"] == "pending"
    found = (await browser.post(f"{PATH}/find", json={"user_code": started["user_code"].lower()})).json()
    shown = {name: found[name] for name in ("name", "address", "role", "bdbs", "ttl")}
    assert shown == {"name": "build-7", "address": "192.0.2.44", "role": "db_viewer", "bdbs": None, "ttl": 86_400}
    assert await decide(browser, started["user_code"]) == 200
    state = await poll(program, started)
    assert (state["status"], state["username"], state["role"]) == ("approved", ANN["email"], "db_viewer")
    headers = {"Authorization": f"Bearer {state['token']}"}
    assert (await program.get("/v1/bdbs", headers=headers)).status_code == 200
    assert (await program.get("/v1/users", headers=headers)).status_code == 403
    [listed] = (await client.get("/v1/service_tokens")).json()
    assert (listed["created_by"], listed["role"]) == (ANN["email"], "db_viewer")
    log = [each["description"] for each in (await client.get("/v1/logs")).json()]
    assert f"{ANN['email']} confirmed the sign-in of the program on build-7 (192.0.2.44)." in log


async def test_codes_are_valid_once(program: httpx.AsyncClient, browser: httpx.AsyncClient) -> None:
    started = await start(program)
    assert await decide(browser, started["user_code"]) == 200
    assert await decide(browser, started["user_code"]) == 404
    assert (await poll(program, started))["status"] == "approved"
    assert (await poll(program, started))["http_status"] == 404


async def test_denied_program_gets_no_token(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    started = await start(program)
    assert await decide(browser, started["user_code"], approve=False) == 200
    assert await decide(browser, started["user_code"]) == 404
    state = await poll(program, started)
    assert (state["status"], state["token"]) == ("denied", None)
    assert (await poll(program, started))["http_status"] == 404
    assert (await client.get("/v1/service_tokens")).json() == []


async def test_short_code_gives_no_token(program: httpx.AsyncClient, browser: httpx.AsyncClient) -> None:
    """A person who reads the short code cannot fetch the token."""
    started = await start(program)
    await decide(browser, started["user_code"])
    reply = await program.post(f"{PATH}/token", json={"device_code": started["user_code"]})
    assert reply.status_code == 404


async def test_expired_codes_are_rejected(
    console: Console, program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    waiting, confirmed = await start(program), await start(program)
    assert await decide(browser, confirmed["user_code"]) == 200
    async with console.store.begin() as session:
        await session.execute(update(DeviceLogin).values(expires_at=datetime.now(UTC)))
    assert await decide(browser, waiting["user_code"]) == 404
    assert (await poll(program, confirmed))["http_status"] == 404
    await start(program)
    async with console.store.read() as session:
        assert len((await session.execute(text("SELECT 1 FROM device_logins"))).all()) == 1


async def test_guessing_of_codes_is_limited_for_each_user_on_all_consoles(
    console: Console, second_console: Console, program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    started = await start(program)
    for number in range(service.MAX_WRONG_CODES):
        assert await decide(browser, f"BCDF-GHJ{service.CODE_ALPHABET[number]}") == 404
    limited = await browser.post(f"{PATH}/find", json={"user_code": started["user_code"]})
    assert (limited.status_code, limited.json()["error_code"]) == (503, "too_many_codes")
    assert int(limited.headers["retry-after"]) > service.LIFETIME_SECONDS - 60
    async with browser_of(second_console, 1) as elsewhere:
        assert (await log_in(elsewhere))[0] == 200
        assert await decide(elsewhere, started["user_code"]) == 503
    async with console.store.begin() as session:
        since = datetime.now(UTC) - timedelta(seconds=service.LIFETIME_SECONDS)
        await session.execute(update(DeviceCodeFailures).values(since=since))
    assert await decide(browser, started["user_code"]) == 200


async def test_waiting_sign_ins_of_one_source_are_limited(program: httpx.AsyncClient) -> None:
    for _ in range(service.MAX_WAITING_OF_SOURCE):
        await start(program)
    reply = await program.post(PATH, json={"name": "build-7"})
    assert (reply.status_code, reply.json()["error_code"]) == (503, "too_many_device_logins")


async def test_only_the_named_user_can_confirm(
    console: Console, client: httpx.AsyncClient, program: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    bob = {"email": "bob@example.org", "password": "correct horse", "role": "admin"}
    assert (await client.post("/v1/users", json=bob)).status_code == 200
    started = await start(program, username=ANN["email"].upper())
    async with browser_of(console) as other:
        assert (await log_in(other, username=bob["email"]))[0] == 200
        assert await decide(other, started["user_code"]) == 404
        assert await decide(other, started["user_code"], approve=False) == 404
    assert await decide(browser, started["user_code"]) == 200
    assert (await poll(program, started))["username"] == ANN["email"]


async def test_sign_ins_are_confirmed_with_a_browser_session_only(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    """Neither a password, nor a token of a program, nor the page of another site can confirm a sign-in."""
    token = await signed_in_program(program, browser)
    started = await start(program)
    body = {"user_code": started["user_code"], "approve": True}
    assert (await client.post(f"{PATH}/confirm", json=body)).json()["error_code"] == "session_required"
    assert (await program.post(f"{PATH}/confirm", json=body, headers=token["headers"])).status_code == 403
    assert (await program.post(f"{PATH}/confirm", json=body)).status_code == 401
    del browser.headers["X-Requested-With"]
    assert (await browser.post(f"{PATH}/confirm", json=body)).json()["error_code"] == "missing_header"
    assert (await poll(program, started))["status"] == "pending"


@pytest.mark.parametrize("change", [{"password": "another horse"}, {"role": "none"}, {"role": "admin"}, None])
async def test_token_ends_with_its_user_password_and_role(
    client: httpx.AsyncClient,
    program: httpx.AsyncClient,
    browser: httpx.AsyncClient,
    ann: int,
    change: dict[str, str] | None,
) -> None:
    token = await signed_in_program(program, browser)
    path = f"/v1/users/{ann}"
    reply = await (client.delete(path) if change is None else client.put(path, json=change))
    assert reply.status_code == 200, reply.text
    assert (await program.get("/v1/bdbs", headers=token["headers"])).status_code == 401


async def test_confirmation_ends_with_its_session(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient, ann: int
) -> None:
    started = await start(program)
    assert await decide(browser, started["user_code"]) == 200
    assert (await client.delete(f"/v1/users/{ann}/sessions")).status_code == 200
    assert (await poll(program, started))["http_status"] == 404


async def test_program_can_remove_its_own_token_only(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    token = await signed_in_program(program, browser)
    other = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "db_viewer"})).json()
    assert (await program.delete(f"/v1/service_tokens/{other['uid']}", headers=token["headers"])).status_code == 403
    assert (await program.delete("/v1/service_tokens/999", headers=token["headers"])).status_code == 403
    assert (await program.delete(f"/v1/service_tokens/{token['token_uid']}", headers=token["headers"])).json() == {}
    assert (await program.get("/v1/bdbs", headers=token["headers"])).status_code == 401


async def test_user_has_a_limited_number_of_tokens(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.service_tokens, "MAX_TOKENS_OF_USER", 2)
    tokens = [await signed_in_program(program, browser) for _ in range(3)]
    statuses = [(await program.get("/v1/bdbs", headers=each["headers"])).status_code for each in tokens]
    assert statuses == [401, 200, 200]


async def test_store_contains_hashes_of_codes_only(console: Console, program: httpx.AsyncClient) -> None:
    started = await start(program)
    async with console.store.read() as session:
        row = str((await session.execute(text("SELECT * FROM device_logins"))).one())
    assert started["device_code"] not in row
    assert started["user_code"].replace("-", "") not in row


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": "a\nb"}, {"name": "x" * 65}, {"name": "a", "ttl": 1}, {"name": "a", "username": ""}],
)
async def test_invalid_sign_ins_are_rejected(program: httpx.AsyncClient, body: dict[str, Any]) -> None:
    assert (await program.post(PATH, json=body)).status_code in (400, 406)


async def test_users_see_and_remove_the_tokens_of_their_own_programs_only(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient, ann: int
) -> None:
    token = await signed_in_program(program, browser)
    other = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "db_viewer"})).json()
    visible = (await browser.get("/v1/service_tokens")).json()
    assert [(each["uid"], each["user_uid"]) for each in visible] == [(token["token_uid"], ann)]
    assert [each["user_uid"] for each in (await client.get("/v1/service_tokens")).json()] == [ann, None]
    assert (await program.get("/v1/service_tokens", headers=token["headers"])).json() == []
    assert (await browser.delete(f"/v1/service_tokens/{other['uid']}")).status_code == 403
    assert (await browser.delete(f"/v1/service_tokens/{token['token_uid']}")).status_code == 200
    assert (await program.get("/v1/bdbs", headers=token["headers"])).status_code == 401


async def test_token_needs_the_second_factor_that_the_policy_requires_from_its_user(
    program: httpx.AsyncClient, browser: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    token = await signed_in_program(program, browser)
    admin = (await client.post("/v1/service_tokens", json={"name": "ci", "role": "admin"})).json()
    headers = {"Authorization": f"Bearer {admin['token']}"}
    policy = {"second_factor_required": True}
    assert (await program.put("/v1/cluster/policy", json=policy, headers=headers)).status_code == 200
    reply = await program.get("/v1/bdbs", headers=token["headers"])
    assert (reply.status_code, reply.json()["error_code"]) == (401, "second_factor_missing")
