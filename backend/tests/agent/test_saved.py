"""What a shard starts from."""

from pathlib import Path

from shardboard.agent.saved import keeps_log


def test_its_settings_say_what_it_starts_from(tmp_path: Path) -> None:
    assert not keeps_log(tmp_path)
    file = tmp_path / "valkey.conf"
    for text, kept in (
        ("port 1\nappendonly yes\n", True),
        ("appendonly no\n# appendonly yes\n", False),
        ("appendonly  yes\nappendfsync always\n", True),
    ):
        file.write_text(text)
        assert keeps_log(tmp_path) == kept
