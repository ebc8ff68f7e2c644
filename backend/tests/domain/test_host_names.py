"""Tests of the check of host names."""

import pytest

from shardboard.domain.host_names import host_error


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "mail.example.org", "a_b", "ab--c", "a."),
        *("192.0.2.1", "::1", "möller.de", "xn--mller-jua.de", "a" * 63),
    ],
)
def test_host_names_and_addresses_are_accepted(host: str) -> None:
    assert host_error(host) == ""


@pytest.mark.parametrize(
    "host",
    [
        *("", ".", "a..b", "mail..example.org", "a..", "-a", "a-", "a b", "a%2eb"),
        *("xn--", "xn--a", "a" * 64, ".".join(["a" * 60] * 5), "999.1.1.1", "1.2.3"),
    ],
)
def test_other_texts_are_refused(host: str) -> None:
    assert host_error(host) == "is not a host name or an IP address"
