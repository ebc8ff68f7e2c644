"""Tests of the security advisories that affect an engine version."""

import pytest

from shardboard.domain.alerting.advisories import ADVISORIES, affecting_version


def test_first_fixed_release_of_a_series_is_not_affected() -> None:
    for advisory in ADVISORIES:
        for (major, minor), patch in advisory.fixed.items():
            assert advisory not in affecting_version(f"{major}.{minor}.{patch}")
            assert advisory in affecting_version(f"{major}.{minor}.{patch - 1}")


def test_advisories_are_sorted_by_publication_date() -> None:
    assert [advisory.published for advisory in ADVISORIES] == sorted(advisory.published for advisory in ADVISORIES)


@pytest.mark.parametrize("version", ["9.1.2", "9.2.0", "10.0.0", "", "unknown", "9.1"])
def test_fixed_and_unknown_versions_have_no_advisories(version: str) -> None:
    assert affecting_version(version) == []
