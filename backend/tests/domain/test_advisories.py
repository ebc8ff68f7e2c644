"""Which published weaknesses a version has."""

import pytest

from shardboard.domain.advisories import ADVISORIES, of_version


def test_the_first_fixed_release_of_a_series_has_none_of_that_advisory() -> None:
    for advisory in ADVISORIES:
        for (major, minor), patch in advisory.fixed.items():
            assert advisory not in of_version(f"{major}.{minor}.{patch}")
            assert advisory in of_version(f"{major}.{minor}.{patch - 1}")


def test_advisories_come_in_the_order_of_publication() -> None:
    assert [advisory.published for advisory in ADVISORIES] == sorted(advisory.published for advisory in ADVISORIES)


@pytest.mark.parametrize("version", ["9.1.2", "9.2.0", "10.0.0", "", "unknown", "9.1"])
def test_no_weakness_is_known_of_these(version: str) -> None:
    assert of_version(version) == []
