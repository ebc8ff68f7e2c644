import pytest

from shardboard.contract.change_files import ChangeFile, change_file_path, history_ends, parse_change_file

ID = "a" * 40


@pytest.mark.parametrize(("is_encrypted", "ending"), [(False, ".changes.zst"), (True, ".changes.zst.age")])
def test_a_name_contains_the_position_and_the_times(is_encrypted: bool, ending: str) -> None:
    file = ChangeFile("", ID, 5, 90, 1_000, 2_000)
    path = change_file_path("db-1/changes/0-99/f", file, is_encrypted=is_encrypted)
    assert path == f"db-1/changes/0-99/f/{ID}-5-90-1000-2000{ending}"
    assert parse_change_file(path) == file._replace(path=path)


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        f"{ID}-5-90-1000-2000.changes.zst.part",
        f"{ID[:39]}-5-90-1000-2000.changes.zst",
        f"{ID}-91-90-1000-2000.changes.zst",
        f"{ID}-5-90-2001-2000.changes.zst",
        f"{ID}-5-90-1000-99999999999999999.changes.zst",
    ],
)
def test_other_names_are_not_files_of_changes(name: str) -> None:
    assert parse_change_file(f"folder/{name}") is None


def test_a_history_ends_where_that_of_the_next_primary_starts() -> None:
    first, second, third = ("a" * 40, "b" * 40, "c" * 40)
    positions = [(first, 0, 50), (first, 50, 100), (second, 80, 90), (second, 90, 200), (third, 200, 210)]
    files = [ChangeFile("", replication_id, start, end, 0, 0) for replication_id, start, end in positions]
    assert history_ends(files) == {first: 80, second: 200}
    assert history_ends([]) == {}
