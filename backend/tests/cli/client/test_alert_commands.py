"""Tests of `shardboard alert`."""

import json

import pytest
from backend.tests.cli.client.conftest import FakeConsole, Run, SentRequest


@pytest.fixture(autouse=True)
def alerts(fake_console: FakeConsole) -> None:
    setting = {"enabled": True, "severity": "INFO", "change_time": "2026-01-01T00:00:00Z"}
    fake_console.replies = {
        "GET /v1/bdbs": [{"uid": 4, "name": "orders"}],
        "GET /v1/nodes": [{"uid": 1, "addr": "192.0.2.1"}],
        "GET /v1/bdbs/alerts": {"4": {"bdb_size": {**setting, "state": True, "change_value": {}, "threshold": "80"}}},
        "GET /v1/nodes/alerts": {
            "1": {"node_memory": {**setting, "state": False, "change_value": {"global_threshold": "70"}}}
        },
        "GET /v1/cluster/alerts": {"cluster_node_joined": {**setting, "state": False, "change_value": {}}},
        "GET /v1/cluster": {
            "alert_settings": {"cluster_node_joined": True, "node_memory": {"enabled": True, "threshold": "70"}}
        },
        "POST /v1/bdbs/alerts/4": {},
        "PUT /v1/cluster": {},
    }


def test_alerts_of_all_objects_are_listed(run: Run) -> None:
    rows = [line.split() for line in run("alert", "list").out.splitlines()[1:]]
    assert [row[:5] for row in rows] == [
        ["orders/bdb_size", "yes", "yes", "INFO", "80"],
        ["192.0.2.1/node_memory", "yes", "no", "INFO", "70"],
        ["cluster/cluster_node_joined", "yes", "no", "INFO", "–"],
    ]
    assert json.loads(run("alert", "get", "orders/bdb_size", "-o", "json").out)["object_uid"] == 4


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        (
            ("orders/bdb_size", "--threshold", "90"),
            SentRequest("POST", "/v1/bdbs/alerts/4", {"bdb_size": {"threshold": "90"}}),
        ),
        (
            ("192.0.2.1/node_memory", "--enabled", "false"),
            SentRequest("PUT", "/v1/cluster", {"alert_settings": {"node_memory": {"enabled": False}}}),
        ),
        (
            ("cluster/cluster_node_joined", "--enabled", "false"),
            SentRequest("PUT", "/v1/cluster", {"alert_settings": {"cluster_node_joined": False}}),
        ),
    ],
)
def test_settings_are_changed_where_they_belong(
    fake_console: FakeConsole, run: Run, arguments: tuple[str, ...], request_: SentRequest
) -> None:
    result = run("alert", "update", *arguments)
    assert (result.status, fake_console.sent) == (0, [request_]), result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("orders/bdb_size",), "nothing to change"),
        (("orders/bdb_size", "--set", "treshold=9"), "an alert has no field treshold"),
        (("cluster/cluster_node_joined", "--threshold", "9"), "has no threshold"),
        (("orders/nonsense", "--threshold", "9"), "the alert orders/nonsense does not exist"),
    ],
)
def test_settings_that_do_not_exist_are_reported(
    fake_console: FakeConsole, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    result = run("alert", "update", *arguments)
    assert result.status != 0
    assert message in result.err
    assert fake_console.sent == []
