"""Tests of the policy and cluster settings: valid ranges, and reading of arbitrary stored values."""

from dataclasses import asdict, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain import rules
from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.domain.cluster.policy import Policy

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def stored(table: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from([*(table_field.name for table_field in fields(table)), "unknown"]), ANYTHING)


@pytest.mark.parametrize("table", [Policy, ClusterSettings])
def test_defaults_are_valid(table: Any) -> None:
    assert rules.field_errors(table, asdict(table())) == {}
    assert table.from_stored({}) == table()


@given(stored(Policy))
def test_stored_policy_is_corrected_to_valid_values(found: dict[str, Any]) -> None:
    policy = Policy.from_stored(found)
    assert rules.field_errors(Policy, asdict(policy)) == {}
    valid_values = {
        name: value
        for name, value in found.items()
        if name != "unknown" and not rules.field_errors(Policy, {name: value})
    }
    assert valid_values.items() <= asdict(policy).items()


@given(stored(ClusterSettings))
def test_stored_settings_are_corrected_to_valid_values(found: dict[str, Any]) -> None:
    assert rules.field_errors(ClusterSettings, asdict(ClusterSettings.from_stored(found))) == {}


def test_numbers_are_corrected_to_the_nearest_allowed_value() -> None:
    policy = Policy.from_stored(
        {"events_keep_days": 10**12, "login_lockout_threshold": -1, "default_recovery_wait_time": -7}
    )
    assert (policy.events_keep_days, policy.login_lockout_threshold, policy.default_recovery_wait_time) == (
        36_500,
        0,
        -1,
    )
    assert Policy.from_stored({"events_keep_days": True}).events_keep_days == 90
