"""Tests of settings objects of the reference: settings with an effect can be changed, others are refused by name."""

from typing import Any

import httpx
import pytest

from shardboard.console import Console
from shardboard.domain.cluster.feature_settings import changed_settings
from shardboard.services.cluster.feature_settings import FEATURES
from shardboard.state.cluster import cluster, console_backups

BACKUP = "rotate_ccs_job_settings"


def test_changes_are_found_by_path() -> None:
    current = {"job": {"enabled": True, "count": 1}, "name": ""}
    assert changed_settings(current, {"job": {"enabled": True, "count": 2}, "name": ""}) == {"job.count": 2}
    assert changed_settings(current, {"job": {"count": True}}) == {"job.count": True}
    with pytest.raises(KeyError, match=r"job\.other"):
        changed_settings(current, {"job": {"other": 1}})


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("cm_settings", {"timezone": "Europe/Nowhere"}, "timezone"),
        ("cm_settings", {"theme": "dark"}, "theme"),
        ("metrics_config", {"key_distribution_enabled": True}, "key_distribution_enabled"),
        ("metrics_config", {"max_requests_in_flight": -1}, "max_requests_in_flight"),
        ("job_scheduler", {"backup_job_settings": {"enabled": False}}, "backup_job_settings.enabled"),
        ("job_scheduler", {BACKUP: {"rotate_max_num": 0}}, f"{BACKUP}.rotate_max_num"),
        ("diagnostics", {"slowlog_target": {"max_entries": 1}}, "slowlog_target"),
        ("ocsp", {"ocsp_functionality": True}, "ocsp_functionality"),
        ("cluster/auditing/db_conns", {"audit_port": 514}, "audit_port"),
        ("cluster/services_configuration", {"alert_mgr": {"operating_mode": "disabled"}}, "alert_mgr.operating_mode"),
    ],
)
async def test_settings_without_effect_are_refused_by_name(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    before = (await client.get(f"/v1/{path}")).json()
    reply = await client.put(f"/v1/{path}", json=body)
    assert (reply.status_code in (400, 406), reply.json()["field"]) == (True, field)
    assert field in reply.json()["description"]
    assert (await client.get(f"/v1/{path}")).json() == before


async def test_settings_can_be_sent_back_unchanged(client: httpx.AsyncClient) -> None:
    for path in (*FEATURES, "cluster/services_configuration"):
        current = (await client.get(f"/v1/{path}")).json()
        reply = await client.put(f"/v1/{path}", json=current)
        assert (reply.status_code, reply.json()) == (200, current), path


async def test_time_zone_and_limit_of_scrapes_are_stored(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.put("/v1/cm_settings?dry_run", json={"timezone": "Asia/Tokyo"})).json()[
        "timezone"
    ] == "Asia/Tokyo"
    assert (await client.put("/v1/cm_settings", json={"timezone": "Europe/Berlin"})).status_code == 200
    reply = await client.put("/v1/metrics_config", json={"max_requests_in_flight": 2})
    assert reply.json()["max_requests_in_flight"] == 2
    async with console.store.read() as session:
        settings = (await cluster.load(session)).settings
    assert (settings.timezone, settings.metrics_max_requests_in_flight) == ("Europe/Berlin", 2)


async def test_backups_of_the_console_are_a_job(client: httpx.AsyncClient, console: Console) -> None:
    refused = await client.put("/v1/job_scheduler", json={BACKUP: {"enabled": True}})
    assert (refused.status_code, refused.json()["error_code"]) == (406, "missing_backup_location")
    location = {"name": "share", "location": {"type": "mount_point", "path": "/srv"}}
    assert (await client.post("/v1/backup_locations", json=location)).status_code == 200
    job = {"enabled": True, "cron_expression": "0 3 * * *", "rotate_max_num": 7}
    assert (await client.put("/v1/job_scheduler", json={BACKUP: job})).json()[BACKUP] == {**job, "file_suffix": "age"}
    async with console.store.read() as session:
        schedule = await console_backups.load_schedule(session)
    assert schedule is not None
    assert (schedule.cron, schedule.keep) == ("0 3 * * *", 7)
    await client.put("/v1/job_scheduler", json={BACKUP: {"rotate_max_num": 9}})
    assert (await client.get("/v1/console_backups/schedule")).json()["keep"] == 9
    await client.put("/v1/job_scheduler", json={BACKUP: {"enabled": False}})
    assert (await client.get("/v1/console_backups/schedule")).status_code == 404


async def test_ldap_cannot_be_turned_on_before_it_is_configured(client: httpx.AsyncClient) -> None:
    body = {"ldap_agent_mgr": {"operating_mode": "enabled"}}
    reply = await client.put("/v1/cluster/services_configuration", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "config_error")


async def test_certificates_and_connections_are_not_checked(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/ocsp/status")).json()["cert_status"] == "UNKNOWN"
    assert (await client.post("/v1/ocsp/test")).json()["error_code"] == "no_responder_url"
    assert (await client.delete("/v1/cluster/auditing/db_conns")).json()[
        "error_code"
    ] == "db_conns_audit_config_not_found"
