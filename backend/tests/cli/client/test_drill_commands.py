"""Tests of `shardboard drill` and `shardboard cluster`."""

import pytest
from backend.tests.cli.client.conftest import FakeConsole, Run, SentRequest

DRILL = {
    "action_uid": "d1",
    "name": "SMDrill",
    "status": "completed",
    "progress": 100.0,
    "originator": "ann",
    "additional_info": {"description": "Drill: reboot node 1", "steps": []},
}


@pytest.fixture(autouse=True)
def drills(fake_console: FakeConsole) -> None:
    fake_console.replies = {
        "GET /v1/nodes": [{"uid": 1, "addr": "192.0.2.1"}],
        "GET /v2/actions": [DRILL, {**DRILL, "action_uid": "other", "name": "SMCreateBDB"}],
        "GET /v2/actions/d1": DRILL,
        "POST /v1/nodes/1/actions/drill": {"action_uid": "d1"},
        "POST /v1/zones/rack a/actions/drill": {"action_uids": ["d1"]},
        "DELETE /v1/actions/d1": {},
    }


def test_drill_is_confirmed_and_its_end_is_awaited(fake_console: FakeConsole, run: Run) -> None:
    refused = run("drill", "create", "reboot", "--node", "192.0.2.1")
    assert (refused.status, fake_console.sent) == (1, [])
    result = run("drill", "create", "reboot", "--node", "192.0.2.1", "--seconds", "5", "--yes")
    assert (result.status, "Drill: reboot node 1" in result.err) == (0, True)
    body = {"kind": "reboot", "seconds": 5.0, "confirm": "node 1"}
    assert fake_console.sent == [SentRequest("POST", "/v1/nodes/1/actions/drill", body)]


def test_drill_of_a_zone(fake_console: FakeConsole, run: Run) -> None:
    assert run("drill", "create", "kill", "--zone", "rack a", "--yes", "--no-wait").out == "d1\n"
    assert fake_console.sent[0].body["confirm"] == "zone rack a"
    assert run("drill", "create", "kill", "--yes").status == 1


def test_drills_are_listed_and_ended(fake_console: FakeConsole, run: Run) -> None:
    assert run("drill", "list", "-o", "name").out == "d1\n"
    assert run("drill", "delete", "other").status == 3
    assert run("drill", "delete", "d1").status == 0
    assert fake_console.sent == [SentRequest("DELETE", "/v1/actions/d1", None)]


def test_settings_and_policy_of_the_cluster_are_changed(fake_console: FakeConsole, run: Run) -> None:
    fake_console.replies = {"GET /v1/cluster": {"name": "c"}, "PUT /v1/cluster/policy": {"rack_aware": True}}
    assert "name   c" in run("cluster", "get").out
    result = run("cluster", "policy", "update", "--set", "rack_aware=true", "-o", "json")
    assert result.status == 0, result.err
    assert fake_console.sent == [SentRequest("PUT", "/v1/cluster/policy", {"rack_aware": True})]
    assert run("cluster", "update").status == 1
