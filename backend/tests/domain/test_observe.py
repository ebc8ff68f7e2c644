"""What one sample says of a shard."""

from dataclasses import replace

import pytest

from shardboard.domain.observe import Observed, observe


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
def test_condition(is_primary: float, loading: float | None, link_up: float, observed: Observed) -> None:
    raw = {
        "is_primary": is_primary,
        "loading": loading,
        "link_up": link_up,
        "pid": 4711.0,
        "started_at": 1700000000.123,
        "engine_version": 90102.0,
    }
    assert observe(raw) == replace(observed, pid=4711, started_at=1700000000.12, version="9.1.2")
    assert observe(raw | {"engine_version": None}).version == ""
