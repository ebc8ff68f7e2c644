"""Tests of webhooks over HTTP."""

from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.schemas.alerting.webhooks import Webhook
from shardboard.services.alerting import webhooks as service
from shardboard.state.access.users import User

pytestmark = pytest.mark.store
PATH = "/v1/webhooks"
BODY = {"name": "chat", "url": "https://hooks.example.org/a", "secret": "hush"}


async def create(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await client.post(PATH, json=BODY | fields)
    assert reply.status_code == 200, reply.text
    webhook: dict[str, Any] = reply.json()
    Webhook.model_validate(webhook, strict=True)
    return webhook


async def test_webhook_is_created_changed_and_deleted(client: httpx.AsyncClient) -> None:
    webhook = await create(client)
    assert "hush" not in str(webhook)
    assert {name: webhook[name] for name in ("is_signed", "events", "min_severity", "enabled", "failures", "open")} == {
        "is_signed": True,
        "events": "alarms",
        "min_severity": "WARNING",
        "enabled": True,
        "failures": 0,
        "open": 0,
    }
    url = f"{PATH}/{webhook['uid']}"
    changed = (await client.put(url, json={"enabled": False, "min_severity": "ERROR", "secret": ""})).json()
    assert (changed["enabled"], changed["min_severity"], changed["is_signed"]) == (False, "ERROR", False)
    assert (await client.get(PATH)).json() == [changed] == [(await client.get(url)).json()]
    assert (await client.delete(url)).json() == {}
    assert (await client.get(url)).json()["error_code"] == "webhook_not_found"
    log = (await client.get("/v1/logs")).json()
    assert [event["type"] for event in log if event["type"].startswith("webhook")] == [
        "webhook_created",
        "webhook_updated",
        "webhook_deleted",
    ]
    assert "hush" not in str(log)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"url": "ftp://example.org"}, 406),
        ({"url": "https://a:b@example.org"}, 406),
        ({"name": ""}, 400),
        ({"events": "some"}, 400),
        ({"min_severity": "LOUD"}, 400),
        ({"unknown": 1}, 400),
        ({"enabled": "yes"}, 400),
    ],
)
async def test_invalid_webhooks_are_refused(client: httpx.AsyncClient, changes: dict[str, Any], status: int) -> None:
    assert (await client.post(PATH, json=BODY | changes)).status_code == status
    uid = (await create(client))["uid"]
    assert (await client.put(f"{PATH}/{uid}", json=changes)).status_code == status
    assert len((await client.get(PATH)).json()) == 1


async def test_number_of_webhooks_is_limited(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_WEBHOOKS", 1)
    await create(client)
    assert (await client.post(PATH, json=BODY)).json()["error_code"] == "too_many_webhooks"


async def test_test_message_reports_the_error(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = (await create(client))["uid"]
    bodies: list[bytes] = []

    async def send(_url: str, body: bytes, _headers: object, _ca: str = "") -> None:
        bodies.append(body)
        if len(bodies) > 1:
            raise DeliveryFailed("It answered 404 Not Found.")

    monkeypatch.setattr(console.notifier._courier._hooks, "send", send)
    assert (await client.post(f"{PATH}/{uid}/test")).json() == {}
    assert (await client.get(f"{PATH}/{uid}")).json()["last_told_time"] is not None
    failed = await client.post(f"{PATH}/{uid}/test")
    assert (failed.status_code, failed.json()["description"]) == (503, "It answered 404 Not Found.")
    assert (await client.post(f"{PATH}/99/test")).status_code == 404


async def test_webhooks_require_an_administrator(console: Console, client: httpx.AsyncClient) -> None:
    uid = (await create(client))["uid"]
    async with console.store.begin() as session:
        (await session.get_one(User, 1)).role = "cluster_member"
    for reply in (
        await client.get(PATH),
        await client.post(PATH, json=BODY),
        await client.put(f"{PATH}/{uid}", json={}),
        await client.delete(f"{PATH}/{uid}"),
        await client.post(f"{PATH}/{uid}/test"),
    ):
        assert reply.status_code == 403


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "email", "url": "https://hooks.example.org/a"}, "invalid_url"),
        ({"kind": "email", "url": "mailto:ann@example.org?bcc=eve@example.org"}, "invalid_url"),
        ({"kind": "webhook", "url": "mailto:ann@example.org"}, "invalid_url"),
        ({"kind": "email", "url": "mailto:ann@example..org"}, "invalid_url"),
        ({"kind": "webhook", "url": "http://xn--/"}, "invalid_url"),
        ({"kind": "webhook", "url": "https://hooks..example.org/"}, "invalid_url"),
        ({"kind": "alertmanager", "url": "http://999.1.1.1:9093"}, "invalid_url"),
        ({"kind": "syslog", "url": "syslog+tcp://logs..example.org"}, "invalid_url"),
        ({"kind": "alertmanager", "url": "http://127.0.0.1:9093", "events": "all"}, "invalid_events"),
    ],
)
async def test_url_must_match_the_kind(client: httpx.AsyncClient, body: dict[str, str], code: str) -> None:
    reply = await client.post("/v1/webhooks", json={"name": "a", **body})
    assert (reply.status_code, reply.json()["error_code"]) == (406, code)
    assert (await client.get("/v1/webhooks")).json() == []


async def test_email_webhook_can_be_muted(client: httpx.AsyncClient) -> None:
    body = {"name": "on call", "kind": "email", "url": "mailto:ann@example.org"}
    webhook = (await client.post("/v1/webhooks", json=body)).json()
    assert (webhook["kind"], webhook["silent_until"]) == ("email", None)
    path = f"/v1/webhooks/{webhook['uid']}"
    muted = (await client.put(path, json={"silent_minutes": 60})).json()
    assert muted["silent_until"] > webhook["created_time"]
    assert (await client.put(path, json={"silent_minutes": 0})).json()["silent_until"] is None
    for invalid in ({"silent_minutes": -1}, {"silent_minutes": 10**6}, {"kind": "webhook"}):
        assert (await client.put(path, json=invalid)).status_code == 400
    assert (await client.put(path, json={"url": "https://example.org"})).status_code == 406
    failed = await client.post(f"{path}/test")
    assert (failed.status_code, "Set smtp_host" in failed.json()["description"]) == (503, True)


async def test_alertmanager_cannot_be_muted(client: httpx.AsyncClient) -> None:
    body = {"name": "prometheus", "kind": "alertmanager", "url": "http://127.0.0.1:9093"}
    webhook = (await client.post("/v1/webhooks", json=body)).json()
    reply = await client.put(f"/v1/webhooks/{webhook['uid']}", json={"silent_minutes": 5})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_silence")


async def test_syslog_webhook_receives_the_audit_log(client: httpx.AsyncClient, console: Console) -> None:
    url = "syslog+tls://siem.example.org:6514"
    ca = console.ca.ca_pem
    webhook = await create(client, kind="syslog", url=url, secret="", events="audit", ca=ca)
    assert (webhook["kind"], webhook["events"], webhook["min_severity"], webhook["ca"]) == (
        "syslog",
        "audit",
        "INFO",
        ca,
    )
    path = f"{PATH}/{webhook['uid']}"
    assert (await client.put(path, json={"ca": ""})).json()["ca"] == ""
    for invalid, code in (
        ({"ca": "junk"}, "invalid_certificate"),
        ({"ca": ca.replace("A", "B")}, "invalid_certificate"),
        ({"ca": "x" * 70_000}, "invalid_certificate"),
        ({"silent_minutes": 5}, "invalid_silence"),
        ({"url": "https://siem.example.org"}, "invalid_url"),
    ):
        reply = await client.put(path, json=invalid)
        assert (reply.status_code, reply.json()["error_code"]) == (406, code), invalid
    assert (await client.put(path, json={"events": "alarms", "silent_minutes": 5})).status_code == 200


@pytest.mark.parametrize(
    ("kind", "url"), [("email", "mailto:a@example.org"), ("alertmanager", "https://a.example.org")]
)
async def test_audit_log_is_only_sent_to_programs(client: httpx.AsyncClient, kind: str, url: str) -> None:
    reply = await client.post(PATH, json={"name": "x", "kind": kind, "url": url, "events": "audit"})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_events")
    webhook = await create(client, kind=kind, url=url, secret="")
    reply = await client.put(f"{PATH}/{webhook['uid']}", json={"events": "audit"})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_events")
