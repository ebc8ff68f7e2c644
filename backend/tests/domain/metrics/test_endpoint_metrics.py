"""Tests of the names and numbers of endpoints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.metrics import endpoint_metrics

UIDS = st.integers(1, 10**9 - 1)


@given(UIDS, UIDS)
def test_endpoint_number_is_unique_and_fits_into_63_bits(bdb_uid: int, node_uid: int) -> None:
    number = endpoint_metrics.number(bdb_uid, node_uid)
    assert (endpoint_metrics.database(number), endpoint_metrics.node(number)) == (bdb_uid, node_uid)
    assert endpoint_metrics.parsed(endpoint_metrics.name(number)) == number
    assert 0 < number < 2**63


def test_numbers_of_small_uids_match_stored_numbers() -> None:
    assert endpoint_metrics.number(7, 4095) == 7 * 4096 + 4095


@pytest.mark.parametrize("text", ["1:2:3", "1:1", "1:1:1:1", "x:1:1", "-1:1:1", "1234567890:1:1", "²:1:1"])
def test_invalid_names_are_rejected(text: str) -> None:
    assert not endpoint_metrics.is_name(text)
    with pytest.raises(ValueError, match=text):
        endpoint_metrics.parsed(text)
