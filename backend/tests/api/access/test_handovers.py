"""Tests of the continuation of browser sessions on another console with another host name."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import httpx
import pytest
from backend.tests.api.sign_in import add_ann, browser_of, log_in
from sqlalchemy import select, update

from shardboard.api.http.credentials import COOKIE
from shardboard.console import Console
from shardboard.domain.cluster.consoles import ConsoleStatus
from shardboard.queries.access import audit as audit_log
from shardboard.services.access import handovers as service
from shardboard.state.access.audit import AuditLine
from shardboard.state.access.sessions import LoginSession, SessionHandover
from shardboard.state.cluster import cluster
from shardboard.state.cluster.consoles import ConsoleRow

pytestmark = pytest.mark.store

FIRST, SECOND = "https://first.example.org:9443", "https://second.example.org:9443"
PAGE = "/databases?name=a%20b&range=60#continued-from=1"


def row_of(uid: str, address: str, status: ConsoleStatus = ConsoleStatus.RUNNING) -> ConsoleRow:
    now, host = datetime.now(UTC), address.partition("//")[2].partition(".")[0]
    return ConsoleRow(
        uid=uid,
        host=host,
        address=address,
        version="1",
        started_at=now,
        seen_at=now,
        store_delay_ms=None,
        status=status,
    )


@pytest.fixture
async def ann(console: Console, client: httpx.AsyncClient) -> int:
    async with console.store.begin() as session:
        session.add_all([row_of(console.id, FIRST), row_of("second", f"{SECOND}/")])
    return await add_ann(client)


@pytest.fixture
async def first(console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(console) as browser:
        assert (await log_in(browser))[0] == 200
        yield browser


@pytest.fixture
async def second(second_console: Console, ann: int) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(second_console, 1) as browser:
        del browser.headers["X-Requested-With"]  # forms cannot send it
        yield browser


async def token_of(browser: httpx.AsyncClient) -> str:
    reply = await browser.post("/v1/session/handover")
    assert reply.status_code == 200, reply.text
    token: str = reply.json()["token"]
    return token


async def submit(
    browser: httpx.AsyncClient, token: str, origin: str | None = FIRST, page: str = PAGE
) -> httpx.Response:
    """Submit the form as the page of another console."""
    headers = {"Content-Type": "application/x-www-form-urlencoded", **({"Origin": origin} if origin else {})}
    return await browser.post(
        "/v1/session/continue", content=urlencode({"token": token, "next": page}), headers=headers
    )


async def is_signed_in(browser: httpx.AsyncClient) -> bool:
    return (await browser.get("/v1/session")).status_code == 200


async def expect_refusal(browser: httpx.AsyncClient, token: str) -> None:
    reply = await submit(browser, token)
    assert (reply.status_code, reply.headers["location"]) == (303, PAGE), "the web UI asks for a sign-in"
    assert "set-cookie" not in reply.headers
    assert not await is_signed_in(browser)


async def test_another_console_continues_the_session(
    console: Console, first: httpx.AsyncClient, second: httpx.AsyncClient
) -> None:
    token = await token_of(first)
    reply = await submit(second, token)
    assert (reply.status_code, reply.headers["location"]) == (303, PAGE)
    assert all(each in reply.headers["set-cookie"] for each in ("HttpOnly", "Secure", "SameSite=strict"))
    assert (await second.get("/v1/session")).json() == (await first.get("/v1/session")).json()
    assert second.cookies[COOKIE] != first.cookies[COOKIE]
    async with console.store.read() as session:
        [row] = (await session.execute(select(SessionHandover))).scalars()
        [login] = (await session.execute(select(LoginSession))).scalars()
        lines = (await session.execute(select(AuditLine))).scalars().all()
    assert row.expires_at == login.expires_at, "the session is not extended"
    assert not {token, second.cookies[COOKIE]} & {row.token_hash, row.cookie_hash}, "only hashes are stored"
    assert lines[-1].detail == "A session of another console was continued."
    assert not any(token in str(vars(line)) for line in lines)
    assert not (await audit_log.verify(console.store)).faults


async def test_signing_out_ends_the_session_on_both_consoles(
    first: httpx.AsyncClient, second: httpx.AsyncClient
) -> None:
    await submit(second, await token_of(first))
    reply = await second.delete("/v1/session", headers={"X-Requested-With": "shardboard"})
    assert reply.status_code == 200
    assert not await is_signed_in(first)


async def test_token_is_valid_once(first: httpx.AsyncClient, second: httpx.AsyncClient) -> None:
    token = await token_of(first)
    await submit(second, token)
    assert await is_signed_in(second)
    second.cookies.clear()
    await expect_refusal(second, token)


async def test_expired_token_is_refused(console: Console, first: httpx.AsyncClient, second: httpx.AsyncClient) -> None:
    token = await token_of(first)
    async with console.store.begin() as session:
        await session.execute(update(SessionHandover).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    await expect_refusal(second, token)


@pytest.mark.parametrize("origin", [None, "null", "https://other.example.org:9443", "https://first.example.org"])
async def test_pages_of_other_sites_are_refused(
    first: httpx.AsyncClient, second: httpx.AsyncClient, origin: str | None
) -> None:
    token = await token_of(first)
    reply = await submit(second, token, origin)
    assert (reply.status_code, reply.json()["error_code"]) == (403, "unknown_origin")
    await submit(second, token)
    assert await is_signed_in(second), "the token was not used up"


async def test_lost_console_is_a_known_origin_until_it_is_removed(
    console: Console, first: httpx.AsyncClient, second: httpx.AsyncClient
) -> None:
    token = await token_of(first)
    async with console.store.begin() as session:
        (await session.get_one(ConsoleRow, console.id)).status = ConsoleStatus.LOST
    await submit(second, token)
    assert await is_signed_in(second)
    token = await token_of(first)
    async with console.store.begin() as session:
        await session.delete(await session.get_one(ConsoleRow, console.id))
    assert (await submit(second, token)).status_code == 403


async def test_token_ends_with_the_session(first: httpx.AsyncClient, second: httpx.AsyncClient) -> None:
    token = await token_of(first)
    await first.delete("/v1/session")
    await expect_refusal(second, token)


async def test_token_of_a_deleted_user_is_refused(
    client: httpx.AsyncClient, first: httpx.AsyncClient, second: httpx.AsyncClient, ann: int
) -> None:
    token = await token_of(first)
    assert (await client.delete(f"/v1/users/{ann}")).status_code == 200
    await expect_refusal(second, token)


async def test_token_is_refused_after_the_password_was_changed(
    client: httpx.AsyncClient, first: httpx.AsyncClient, second: httpx.AsyncClient, ann: int
) -> None:
    token = await token_of(first)
    assert (await client.put(f"/v1/users/{ann}", json={"password": "an even longer password"})).status_code == 200
    await expect_refusal(second, token)


async def test_token_is_refused_if_two_factor_authentication_became_required(
    client: httpx.AsyncClient, first: httpx.AsyncClient, second: httpx.AsyncClient, console: Console
) -> None:
    token = await token_of(first)
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"second_factor_required": True}
    await expect_refusal(second, token)


async def test_changed_role_applies_to_the_continued_session(
    client: httpx.AsyncClient, first: httpx.AsyncClient, second: httpx.AsyncClient, ann: int
) -> None:
    token = await token_of(first)
    assert (await client.put(f"/v1/users/{ann}", json={"role": "none"})).status_code == 200
    await submit(second, token)
    reply = await second.get("/v1/nodes")
    assert reply.status_code == 403


@pytest.mark.parametrize("page", ["//evil.example.org/", "https://evil.example.org/", "/\\evil.example.org", ""])
async def test_redirect_leads_to_the_web_ui_only(
    first: httpx.AsyncClient, second: httpx.AsyncClient, page: str
) -> None:
    assert (await submit(second, await token_of(first), page=page)).headers["location"] == "/"


async def test_guessing_is_throttled(first: httpx.AsyncClient, second: httpx.AsyncClient) -> None:
    for number in range(6):
        await submit(second, f"guess {number}")
    await expect_refusal(second, await token_of(first))


async def test_oldest_tokens_of_a_session_are_deleted(
    console: Console, first: httpx.AsyncClient, second: httpx.AsyncClient
) -> None:
    oldest = await token_of(first)
    for _ in range(service.MAX_TOKENS):
        newest = await token_of(first)
    async with console.store.read() as session:
        assert len((await session.execute(select(SessionHandover))).all()) == service.MAX_TOKENS
    await expect_refusal(second, oldest)
    await submit(second, newest)
    assert await is_signed_in(second)


async def test_a_new_cookie_is_not_one_of_the_deleted_ones(
    console: Console, first: httpx.AsyncClient, second: httpx.AsyncClient
) -> None:
    token = await token_of(first)
    async with console.store.begin() as session:
        row = (await session.execute(select(SessionHandover))).scalar_one()
        for number in range(service.MAX_TOKENS):
            used = {"token_hash": f"{number:064}", "cookie_hash": f"{number:064}"}
            expires_at = datetime.now(UTC) + timedelta(days=1)
            session.add(SessionHandover(**used, session_uid=row.session_uid, expires_at=expires_at))
    await submit(second, token)
    assert await is_signed_in(second)


async def test_no_token_without_a_session_or_another_console(
    console: Console, client: httpx.AsyncClient, first: httpx.AsyncClient
) -> None:
    assert (await client.post("/v1/session/handover")).json()["token"] is None
    async with console.store.begin() as session:
        (await session.get_one(ConsoleRow, "second")).status = ConsoleStatus.STOPPED
    reply = (await first.post("/v1/session/handover")).json()
    assert reply["token"] is None
    assert [(each["origin"], each["running"], each["current"]) for each in reply["consoles"]] == [
        (FIRST, True, True),
        (SECOND, False, False),
    ]


async def test_pages_of_other_consoles_can_check_whether_this_one_responds(
    second: httpx.AsyncClient,
) -> None:
    for origin, allowed in ((FIRST, FIRST), ("https://other.example.org", None)):
        reply = await second.get("/v1/session/handover", headers={"Origin": origin})
        assert reply.json() == {"uid": "second", "leads": False}
        assert reply.headers.get("access-control-allow-origin") == allowed
        assert "access-control-allow-credentials" not in reply.headers
        assert reply.headers["vary"] == "Origin"


async def test_pages_may_connect_to_the_other_running_consoles(console: Console, first: httpx.AsyncClient) -> None:
    async with console.store.begin() as session:
        (await session.get_one(ConsoleRow, "second")).status = ConsoleStatus.STOPPED
    await console.presence.read_origins()
    assert SECOND not in (await first.get("/databases")).headers["content-security-policy"]
    async with console.store.begin() as session:
        (await session.get_one(ConsoleRow, "second")).status = ConsoleStatus.RUNNING
    await console.presence.read_origins()
    policy = (await first.get("/databases")).headers["content-security-policy"]
    assert f"form-action 'self' {SECOND};" in policy
    assert policy.endswith(f"connect-src 'self' {SECOND}")
    assert SECOND not in (await first.get("/v1/session")).headers["content-security-policy"]
