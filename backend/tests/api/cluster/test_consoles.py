"""Tests of the list of consoles, of the planned change of the leader, and of the removal of lost consoles."""

from datetime import UTC, datetime

import httpx
import pytest

from shardboard.console import Console
from shardboard.domain.cluster.consoles import ConsoleStatus
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles
from shardboard.state.cluster.consoles import ConsoleRow, Leadership

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
async def rows(console: Console) -> None:
    """Console `test`, which leads, console `other`, and console `gone`, which is lost."""
    statuses = {"test": ConsoleStatus.RUNNING, "other": ConsoleStatus.RUNNING, "gone": ConsoleStatus.LOST}
    async with console.store.begin() as session:
        session.add_all(
            ConsoleRow(
                uid=uid,
                host=f"{uid}.example.org",
                address=f"https://{uid}.example.org:9443",
                version="1.0",
                release=3,
                started_at=NOW,
                seen_at=NOW,
                store_delay_ms=1.5,
                agents_reached=3,
                status=status,
            )
            for uid, status in statuses.items()
        )
        lease = {
            "term": 3,
            "renewals": 7,
            "released": False,
            "successor": None,
            "acquired_at": NOW,
            "reason": "expired",
        }
        session.add(Leadership(uid=1, console_id="test", **lease))
        details = {"console": "gone", "host": "gone.example.org", "open": True}
        events.record(session, events.CONSOLE_LOST, "Console gone was lost.", details=details)


async def successor(console: Console) -> str | None:
    async with console.store.read() as session:
        lease = await consoles.leadership(session)
    assert lease is not None
    return lease.successor


async def test_consoles_are_listed(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/v1/consoles")).json()
    assert {each["uid"]: (each["status"], each["is_leader"], each["is_current"]) for each in listed} == {
        "test": ("running", True, True),
        "other": ("running", False, False),
        "gone": ("lost", False, False),
    }
    leader = next(each for each in listed if each["is_leader"])
    assert (leader["leader_since"], leader["leader_reason"]) == ("2026-01-01T00:00:00Z", "expired")
    assert (leader["store_delay_ms"], leader["release"]) == (1.5, 3)
    assert {each["leader_reason"] for each in listed if not each["is_leader"]} == {None}


async def test_a_running_console_can_become_the_leader(client: httpx.AsyncClient, console: Console) -> None:
    reply = await client.post("/v1/consoles/other/actions/lead")
    assert (reply.status_code, reply.json()["uid"]) == (200, "other")
    assert await successor(console) == "other"


async def test_the_leader_stays_the_leader(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/consoles/test/actions/lead")).json()["is_leader"]
    assert await successor(console) is None


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/v1/consoles/gone/actions/lead", 409, "console_not_running"),
        ("POST", "/v1/consoles/unknown/actions/lead", 404, "console_not_found"),
        ("DELETE", "/v1/consoles/other", 409, "console_running"),
        ("DELETE", "/v1/consoles/unknown", 404, "console_not_found"),
    ],
)
async def test_impossible_requests_are_refused(
    client: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    reply = await client.request(method, path)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)


async def test_removal_of_a_lost_console_ends_its_alarm(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.delete("/v1/consoles/gone")).status_code == 200
    assert [each["uid"] for each in (await client.get("/v1/consoles")).json()] == ["other", "test"]
    async with console.store.read() as session:
        assert not await events.list_open_spans(session, events.CONSOLE_LOST)
