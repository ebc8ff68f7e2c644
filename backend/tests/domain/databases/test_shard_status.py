"""Tests of deriving the condition of a shard from one sample."""

from dataclasses import replace

import pytest

from shardboard.domain.databases.shard_status import REFUSES, Observed, is_ready, observe


@pytest.mark.parametrize(
    ("is_primary", "loading", "link_up", "observed"),
    [
        (1.0, 0.0, 1.0, Observed("ok", "master", "")),
        (1.0, 1.0, 1.0, Observed("loading", "master", "")),
        (0.0, 0.0, 1.0, Observed("ok", "slave", "idle")),
        (0.0, 0.0, 0.0, Observed("ok", "slave", "link_down")),
        (0.0, 1.0, 0.0, Observed("loading", "slave", "in_progress")),
        (0.0, None, 0.0, Observed("ok", "slave", "link_down")),
    ],
)
def test_condition_is_derived_from_a_sample(
    is_primary: float, loading: float | None, link_up: float, observed: Observed
) -> None:
    raw = {
        "is_primary": is_primary,
        "loading": loading,
        "link_up": link_up,
        "pid": 4711.0,
        "started_at": 1700000000.123,
        "engine_version": 90102.0,
        "cluster_down": None,
    }
    assert observe(raw) == replace(observed, pid=4711, started_at=1700000000.12, version="9.1.2")
    assert observe(raw | {"engine_version": None}).version == ""


@pytest.mark.parametrize(
    ("cluster_state", "loading", "is_primary", "link", "detail"),
    [
        (1.0, 0.0, 1.0, "cluster_down", REFUSES),
        (1.0, 1.0, 1.0, "cluster_down", ""),
        (0.0, 0.0, 1.0, "", ""),
        (None, 0.0, 1.0, "", ""),
        (1.0, 0.0, 0.0, "idle", ""),
    ],
)
def test_primary_with_a_failed_cluster_state_rejects_requests(
    cluster_state: float | None, loading: float, is_primary: float, link: str, detail: str
) -> None:
    raw = {"is_primary": is_primary, "loading": loading, "link_up": 1.0, "pid": 1.0, "started_at": 1.0}
    observed = observe(raw | {"engine_version": None, "cluster_down": cluster_state})
    assert (observed.link, observed.detail) == (link, detail)


@pytest.mark.parametrize(
    ("status", "role", "link", "ready"),
    [
        ("ok", "master", "", True),
        ("ok", "master", "idle", True),  # just promoted
        ("ok", "master", "cluster_down", False),
        ("loading", "master", "", False),
        ("ok", "slave", "idle", True),
        ("ok", "slave", "in_progress", False),
        ("ok", "slave", "", False),
        ("down", "slave", "idle", False),
    ],
)
def test_readiness_depends_on_status_role_and_link(status: str, role: str, link: str, ready: bool) -> None:
    assert is_ready(status, role, link) is ready
