"""Tests of the choice of databases of `shardboard bench run`."""

import pytest

from shardboard.cli.benchmark import RunError, _uid_of

DATABASES = [
    {"uid": 1, "name": "shop"},
    {"uid": 2, "name": "carts"},
    {"uid": 3, "name": "shop"},
    {"uid": 4, "name": "2"},
]


def test_databases_are_identified_by_uid_or_name() -> None:
    assert _uid_of("carts", DATABASES) == 2
    assert _uid_of("3", DATABASES) == 3
    assert _uid_of("2", DATABASES) == 2


@pytest.mark.parametrize(("target", "message"), [("x", "does not exist"), ("shop", "use one of the uids 1, 3")])
def test_unknown_and_ambiguous_names_are_refused(target: str, message: str) -> None:
    with pytest.raises(RunError, match=message):
        _uid_of(target, DATABASES)
