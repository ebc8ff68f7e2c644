"""Tests of which persistence files a shard loads at start."""

from pathlib import Path

from shardboard.agent.databases.persistence_files import uses_append_only_file


def test_append_only_setting_is_read_from_the_configuration(tmp_path: Path) -> None:
    assert not uses_append_only_file(tmp_path)
    file = tmp_path / "valkey.conf"
    for text, enabled in (
        ("port 1\nappendonly yes\n", True),
        ("appendonly no\n# appendonly yes\n", False),
        ("appendonly  yes\nappendfsync always\n", True),
    ):
        file.write_text(text)
        assert uses_append_only_file(tmp_path) == enabled
