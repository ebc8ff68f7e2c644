"""Reports about files before an import."""

from typing import Any

import pytest

from shardboard.domain.data.import_report import ImportTarget, InspectedFile, build

CONTENTS: dict[str, Any] = {
    "rdb_version": 11,
    "family": "valkey",
    "keys": 10,
    "memory_bytes": 1_000,
    "databases": {"0": 10},
}
TARGET = ImportTarget("shop", memory_limit=2_000, is_evicting=False, engine_version="8.1.4")


def report(target: ImportTarget = TARGET, *, may_exceed_memory: bool = False, **contents: Any) -> dict[str, Any]:
    return build([InspectedFile("a.rdb", CONTENTS | contents)], target, may_exceed_memory=may_exceed_memory)


def test_a_file_without_losses_is_possible() -> None:
    found = report()
    assert (found["forecast"], found["losses"], found["problems"]) == ("possible", [], [])
    assert found["files"][0]["format"] == "Valkey RDB 11"


@pytest.mark.parametrize(
    ("contents", "code", "keys"),
    [
        ({"modules": {"ReJSON-RL": 2}}, "module_values", 2),
        ({"field_expiry": 4}, "field_expiry", 4),
        ({"databases": {"0": 1, "3": 5, "11": 2}}, "other_databases", 7),
        ({"importing": 6}, "importing_slots", 6),
        ({"too_large": 1}, "too_large", 1),
    ],
)
def test_keys_that_cannot_be_imported_are_losses(contents: dict[str, Any], code: str, keys: int) -> None:
    found = report(**contents)
    assert found["forecast"] == "losses"
    assert [(each["code"], each["keys"]) for each in found["losses"]] == [(code, keys)]
    assert found["lost_keys"] == keys


@pytest.mark.parametrize(("version", "is_loss"), [("8.1.4", True), ("9.0.0", False), ("10.1", False), ("", False)])
def test_expiry_times_of_fields_depend_on_the_engine(version: str, is_loss: bool) -> None:
    target = ImportTarget("shop", 0, is_evicting=False, engine_version=version)
    assert bool(report(target, field_expiry=1)["losses"]) == is_loss


def test_losses_of_several_files_are_added() -> None:
    files = [InspectedFile(name, CONTENTS | {"modules": {"M": 2}}) for name in ("a.rdb", "b.rdb")]
    found = build(files, TARGET)
    assert [each["keys"] for each in found["losses"]] == [4]
    assert [file["losses"][0]["keys"] for file in found["files"]] == [2, 2]


@pytest.mark.parametrize(
    ("limit", "evicts", "force", "forecast"),
    [
        (900, False, False, "impossible"),
        (900, False, True, "impossible"),
        (900, True, False, "impossible"),
        (900, True, True, "losses"),
        (1_000, False, False, "possible"),
        (0, False, False, "possible"),
    ],
)
def test_files_must_fit_unless_the_database_evicts(limit: int, evicts: bool, force: bool, forecast: str) -> None:
    found = report(ImportTarget("shop", limit, is_evicting=evicts), may_exceed_memory=force)
    assert found["forecast"] == forecast
    assert found["needed_bytes"] == 1_000


def test_unreadable_files_are_problems() -> None:
    files = [
        InspectedFile("a.rdb", CONTENTS),
        InspectedFile("b.rdb", error="It ends early.", error_code="file-corrupted"),
    ]
    found = build(files, TARGET)
    assert (found["forecast"], found["files"][0]["forecast"]) == ("impossible", "possible")
    assert found["problems"] == [
        {"code": "file-corrupted", "message": "b.rdb cannot be read. It ends early.", "keys": 0}
    ]
