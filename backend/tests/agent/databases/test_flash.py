"""Tests of the flash of a node: startup checks and shard directories."""

import stat
from pathlib import Path

import pytest
from backend.tests.support.real_shards import local_nodes, standalone_shard, start_request

from shardboard.agent.databases import flash
from shardboard.agent.databases.flash import Flash, FlashError
from shardboard.agent.metrics import machine
from shardboard.agent.settings import AgentSettings
from shardboard.contract import TierSpec

TIER = TierSpec(ram_limit=0, flash_limit=0)


@pytest.fixture
def settings(tmp_path: Path) -> AgentSettings:
    module = tmp_path / "module.so"
    module.touch()
    return AgentSettings(
        address="127.0.0.1", state_dir=tmp_path, flash=tmp_path / "flash", flash_size=2**20, tier=str(module)
    )


def with_changes(settings: AgentSettings, **changes: object) -> AgentSettings:
    return AgentSettings(**{**settings.__dict__, **changes})


def test_flash_settings_are_reported_to_the_console(settings: AgentSettings) -> None:
    storage = flash.open_flash(settings)
    facts = machine.facts(settings, storage)
    assert (facts.flash_path, facts.flash_size) == (str(settings.flash), 2**20)
    assert (machine.facts(settings).flash_path, machine.facts(settings).flash_size) == ("", 0)
    default_size = flash.open_flash(with_changes(settings, flash_size=None))
    assert default_size is not None
    assert default_size.size > 2**20


def test_unusable_flash_is_rejected(settings: AgentSettings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for changes, message in (
        ({"flash": None}, "--flash-size needs --flash"),
        ({"flash": tmp_path / "file"}, "is not usable: File exists"),
        ({"flash_size": 2**60}, "its? ?file system|but the file system"),
        ({"tier": "/nowhere.so"}, "was not found .*/nowhere.so"),
    ):
        with pytest.raises(FlashError, match=message):
            flash.open_flash(with_changes(settings, **changes))
    assert flash.open_flash(with_changes(settings, flash=None, flash_size=None)) is None


def test_directories_are_readable_only_by_the_agent(settings: AgentSettings, tmp_path: Path) -> None:
    root = tmp_path / "flash"
    (root / "shards").mkdir(mode=0o755, parents=True)
    found = flash.open_flash(settings)
    assert found is not None
    found.prepare(1)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (root / "shards", root / "shards" / "1")] == [0o700, 0o700]


def test_links_are_not_followed(settings: AgentSettings, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (victim / "1").mkdir(parents=True)
    (victim / "1" / "file").write_text("kept")
    root = tmp_path / "flash"
    root.mkdir()
    (root / "shards").symlink_to(victim)
    with pytest.raises(FlashError, match="and no link"):
        flash.open_flash(settings)
    (root / "shards").unlink()
    found = flash.open_flash(settings)
    assert found is not None
    found.directory(1).symlink_to(victim / "1")
    with pytest.raises(OSError, match="File exists"):
        found.prepare(1)
    found.remove_others([])
    assert (victim / "1" / "file").read_text() == "kept"


def test_directories_of_removed_shards_are_deleted(tmp_path: Path) -> None:
    storage = Flash(tmp_path, 2**20, tmp_path / "module.so")
    for uid in (1, 2):
        storage.prepare(uid)
    (storage.directory(1) / "log").write_text("old")
    storage.remove_others(["1"])
    assert [path.name for path in (tmp_path / "shards").iterdir()] == ["1"]
    storage.prepare(1)
    assert list(storage.directory(1).iterdir()) == [], "files of an earlier process are deleted"


async def test_flash_shard_is_refused_on_a_node_without_flash(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as nodes:
        [outcome] = await nodes[1].start(start_request(standalone_shard(1), tier=TIER))
        assert not outcome.ok
        assert "has no flash: its agent was started without --flash" in outcome.reason
        assert not (tmp_path / "node1" / "shards" / "1").exists()
