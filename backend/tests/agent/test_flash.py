"""The node's flash: what the agent checks of it, and the directories of shards there."""

from pathlib import Path

import pytest
from backend.tests.shards import farm, lone, request

from shardboard.agent import flash, machine
from shardboard.agent.contract import TierSpec
from shardboard.agent.flash import Flash, FlashError
from shardboard.agent.settings import AgentSettings

TIER = TierSpec(ram_limit=0, flash_limit=0)


@pytest.fixture
def settings(tmp_path: Path) -> AgentSettings:
    module = tmp_path / "module.so"
    module.touch()
    return AgentSettings(
        address="127.0.0.1", state_dir=tmp_path, flash=tmp_path / "flash", flash_size=2**20, tier=str(module)
    )


def changed(settings: AgentSettings, **changes: object) -> AgentSettings:
    return AgentSettings(**{**settings.__dict__, **changes})


def test_what_was_given_is_told_to_the_console(settings: AgentSettings) -> None:
    found = flash.find(settings)
    facts = machine.facts(settings, found)
    assert (facts.flash_path, facts.flash_size) == (str(settings.flash), 2**20)
    assert (machine.facts(settings).flash_path, machine.facts(settings).flash_size) == ("", 0)
    whole = flash.find(changed(settings, flash_size=None))
    assert whole is not None
    assert whole.size > 2**20


def test_a_flash_that_cannot_be_used_is_refused(settings: AgentSettings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for changes, sentence in (
        ({"flash": None}, "--flash-size needs --flash"),
        ({"flash": tmp_path / "file"}, "is not usable: File exists"),
        ({"flash_size": 2**60}, "its? ?file system|but the file system"),
        ({"tier": "/nowhere.so"}, "was not found .*/nowhere.so"),
    ):
        with pytest.raises(FlashError, match=sentence):
            flash.find(changed(settings, **changes))
    assert flash.find(changed(settings, flash=None, flash_size=None)) is None


def test_directories_of_shards_that_are_gone_are_removed(tmp_path: Path) -> None:
    found = Flash(tmp_path, 2**20, tmp_path / "module.so")
    for uid in (1, 2):
        found.prepare(uid)
    (found.directory(1) / "log").write_text("old")
    found.keep(["1"])
    assert [path.name for path in (tmp_path / "shards").iterdir()] == ["1"]
    found.prepare(1)
    assert list(found.directory(1).iterdir()) == [], "what a process left is of no use to the next one"


async def test_without_flash_a_shard_on_flash_is_refused(tmp_path: Path) -> None:
    async with farm(tmp_path) as nodes:
        [outcome] = await nodes[1].start(request(lone(1), tier=TIER))
        assert not outcome.ok
        assert "has no flash: its agent was started without --flash" in outcome.reason
        assert not (tmp_path / "node1" / "shards" / "1").exists()
