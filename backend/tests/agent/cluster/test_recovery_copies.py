"""Tests of the copies that an agent keeps for a console that has lost its store."""

import asyncio
from pathlib import Path

import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.running_agent import running_agent
from pydantic import ValidationError

from shardboard.agent.cluster import recovery_copies
from shardboard.agent.cluster.recovery_copies import RecoveryCopies
from shardboard.contract.recovery_copies import MAX_COPY_BYTES, CopyVersion, KeepCopies, ReadCopy, RecoveryCopy
from shardboard.driver.agents import HttpAgents
from shardboard.settings import Settings


def copy(name: str, term: int, counter: int, content: str = "sealed") -> RecoveryCopy:
    return RecoveryCopy(name=name, term=term, counter=counter, content=content)


async def keep(
    copies: RecoveryCopies, *sent: RecoveryCopy, names: list[str] | None = None
) -> list[tuple[str, int, int]]:
    held = await copies.keep(KeepCopies(copies=list(sent), names=names))
    return sorted((each.name, each.term, each.counter) for each in held)


async def content(copies: RecoveryCopies, name: str) -> str | None:
    return next((each.content for each in await copies.read(ReadCopy(name=name))), None)


async def test_only_newer_versions_replace_a_copy(tmp_path: Path) -> None:
    copies = RecoveryCopies(tmp_path)
    assert await keep(copies, copy("bdb-1", 2, 5, "first")) == [("bdb-1", 2, 5)]
    for older in (copy("bdb-1", 2, 5, "same"), copy("bdb-1", 2, 4, "older"), copy("bdb-1", 1, 9, "older term")):
        assert await keep(copies, older) == [("bdb-1", 2, 5)]
        assert await content(copies, "bdb-1") == "first"
    assert await keep(copies, copy("bdb-1", 3, 1, "newer term")) == [("bdb-1", 3, 1)]
    assert await content(copies, "bdb-1") == "newer term"


async def test_copies_survive_a_restart_and_are_private(tmp_path: Path) -> None:
    await keep(RecoveryCopies(tmp_path), copy("cluster", 1, 1), copy("bdb-1", 1, 2))
    (tmp_path / "recovery" / ".bdb-2.01234567").write_text("of an agent that was killed while writing")
    restarted = RecoveryCopies(tmp_path)
    assert await keep(restarted) == [("bdb-1", 1, 2), ("cluster", 1, 1)]
    files = sorted((tmp_path / "recovery").iterdir())
    assert [file.name for file in files] == ["bdb-1", "cluster"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


async def test_copies_of_other_objects_are_deleted(tmp_path: Path) -> None:
    copies = RecoveryCopies(tmp_path)
    await keep(copies, copy("cluster", 1, 1), copy("bdb-1", 1, 2), copy("bdb-2", 1, 3))
    assert await keep(copies, names=["cluster", "bdb-2"]) == [("bdb-2", 1, 3), ("cluster", 1, 1)]
    assert await content(copies, "bdb-1") is None


@pytest.mark.parametrize("damage", [b"", b"{", b'{"name": "bdb-1", "term": 1}', b"\xff\xfe\n"])
async def test_damaged_copies_count_as_missing(tmp_path: Path, damage: bytes) -> None:
    await keep(RecoveryCopies(tmp_path), copy("bdb-1", 1, 1), copy("bdb-2", 1, 2))
    (tmp_path / "recovery" / "bdb-1").write_bytes(damage)
    restarted = RecoveryCopies(tmp_path)
    assert await keep(restarted) == [("bdb-2", 1, 2)]
    assert await content(restarted, "bdb-1") is None
    assert await keep(restarted, copy("bdb-1", 1, 1, "again")) == [("bdb-1", 1, 1), ("bdb-2", 1, 2)]


async def test_a_renamed_copy_is_not_returned(tmp_path: Path) -> None:
    copies = RecoveryCopies(tmp_path)
    await keep(copies, copy("bdb-1", 1, 1))
    (tmp_path / "recovery" / "bdb-1").rename(tmp_path / "recovery" / "bdb-2")
    assert await content(copies, "bdb-2") is None


async def test_all_copies_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery_copies, "MAX_TOTAL_BYTES", 400)
    copies = RecoveryCopies(tmp_path)
    assert await keep(copies, copy("bdb-1", 1, 1, "x" * 250), copy("bdb-2", 1, 2, "x" * 250)) == [("bdb-1", 1, 1)]
    assert await keep(copies, copy("bdb-1", 1, 3, "x" * 300)) == [("bdb-1", 1, 3)], (
        "its own previous size does not count"
    )


async def test_a_full_disk_keeps_the_previous_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = RecoveryCopies(tmp_path)
    await keep(copies, copy("bdb-1", 1, 1, "first"))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recovery_copies, "write_private", fail)
    assert await keep(copies, copy("bdb-1", 1, 2, "second")) == [("bdb-1", 1, 1)]
    assert await content(copies, "bdb-1") == "first"


@pytest.mark.parametrize("name", ["", "bdb-0", "bdb-x", "../term", "cluster\n", "bdb-1/2"])
def test_names_cannot_leave_the_directory(name: str) -> None:
    with pytest.raises(ValidationError):
        ReadCopy(name=name)


def test_copies_that_are_too_large_are_rejected() -> None:
    with pytest.raises(ValidationError):
        copy("bdb-1", 1, 1, "x" * (MAX_COPY_BYTES + 1))


async def test_console_sends_and_reads_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.driver.data.recovery_copies.BATCH_BYTES", 100)
    ca = new_console_ca(Settings(state_dir=tmp_path / "console"))
    async with asyncio.timeout(30), running_agent(tmp_path / "agent", ca) as node:
        agents = HttpAgents(ca.client_ssl_context)
        sent = [copy(f"bdb-{uid}", 1, uid, "x" * 60) for uid in (1, 2, 3)]
        held = await agents.keep_copies(node, sent, [each.name for each in sent])
        assert held == [CopyVersion(name=f"bdb-{uid}", term=1, counter=uid) for uid in (1, 2, 3)]
        assert await agents.list_copies(node) == held
        assert await agents.read_copy(node, "bdb-2") == sent[1]
        assert await agents.read_copy(node, "bdb-9") is None
        assert await agents.keep_copies(node, [], ["bdb-3"]) == held[2:]
        await agents.close()
