"""Tests of the growth between two backups."""

from shardboard.domain.data.growth import Growth, growth_of_prefixes, growth_of_types


def total(keys: int, size: int) -> dict[str, int]:
    return {"keys": keys, "bytes": size}


def analysis(prefixes: dict[str, tuple[int, int]], others: int = 0) -> dict[str, object]:
    return {
        "prefixes": [{"prefix": name, **total(*values)} for name, values in prefixes.items()],
        "other_prefixes": total(others, others),
    }


def test_types_with_the_largest_change_are_first() -> None:
    current = {"types": {"string": total(5, 500), "hash": total(1, 10)}}
    previous = {"types": {"string": total(4, 450), "list": total(9, 900)}}
    assert growth_of_types(current, previous) == [
        Growth("list", 0, 0, 9, 900),
        Growth("string", 5, 500, 4, 450),
        Growth("hash", 1, 10, 0, 0),
    ]


def test_new_and_deleted_prefixes_are_counted_from_zero() -> None:
    current, previous = analysis({"user:": (3, 30), "new:": (1, 10)}), analysis({"user:": (3, 30), "old:": (2, 20)})
    assert growth_of_prefixes(current, previous) == [
        Growth("old:", 0, 0, 2, 20),
        Growth("new:", 1, 10, 0, 0),
        Growth("user:", 3, 30, 3, 30),
    ]


def test_prefixes_that_an_analysis_does_not_list_are_unknown() -> None:
    current, previous = analysis({"new:": (1, 10)}, others=1), analysis({"old:": (2, 20)}, others=1)
    assert growth_of_prefixes(current, previous) == [Growth("new:", 1, 10, None, None)]
