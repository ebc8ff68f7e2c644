"""Tests of the addresses of consoles."""

import pytest

from shardboard.domain.cluster.consoles import origin_of


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://console1:9443", "https://console1:9443"),
        ("https://Console1.Example.org:443/", "https://console1.example.org"),
        ("https://console1.example.org:09443/web", "https://console1.example.org:9443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("console1:9443", None),
        ("https://a b:9443", None),
        ("https://a:9443; script-src *", None),
        ("https://user@a:9443", None),
        ("https://a\nb", None),
        ("javascript://a", None),
        ("", None),
    ],
)
def test_origin_of_an_address(address: str, origin: str | None) -> None:
    assert origin_of(address) == origin
