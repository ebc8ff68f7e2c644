"""File streams between the console, an agent, and a folder, with real processes and TLS."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import wait_until
from backend.tests.support.running_agent import running_agent

from shardboard.agent.detached_processes import _processes_in as processes_in
from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.contract.locations import MountPoint
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentError, AgentRefused
from shardboard.pki.console_ca import ConsoleCa
from shardboard.settings import Settings
from shardboard.transfer.stores.folders import Folder

CONTENT = os.urandom(3 * 2**20 + 5)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> ConsoleCa:
    return new_console_ca(Settings(state_dir=tmp_path_factory.mktemp("console")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@pytest.fixture
async def agent(tmp_path: Path, folder: Path, authority: ConsoleCa) -> AsyncIterator[NodeRef]:
    async with running_agent(tmp_path / "agent", authority, backup_roots=(folder,)) as node:
        yield node


@pytest.fixture
async def agents(authority: ConsoleCa) -> AsyncIterator[HttpAgents]:
    client = HttpAgents(authority.client_ssl_context)
    yield client
    await client.close()


async def parts_of(content: bytes, size: int = 2**18) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def sent_file(folder: Path, content: bytes = CONTENT, **fields: object) -> SendFile:
    digest = hashlib.sha256(content).hexdigest()
    known: dict[str, object] = {"path": "a/b.rdb", "bytes": len(content), "sha256": digest}
    return SendFile(location=MountPoint(path=str(folder)), **{**known, **fields})  # type: ignore[arg-type]


def received_file(folder: Path, size: int = len(CONTENT)) -> ReceiveFile:
    return ReceiveFile(location=MountPoint(path=str(folder)), path="a/b.rdb", bytes=size)


def files_of(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


async def wait_until_ended(tmp_path: Path) -> None:
    await wait_until(lambda: not list((tmp_path / "agent" / "streams").iterdir()))


async def test_received_file_is_sent_back(agents: HttpAgents, agent: NodeRef, folder: Path, tmp_path: Path) -> None:
    result = await agents.receive_file(agent, received_file(folder), parts_of(CONTENT))
    assert result == {"bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
    parts = [part async for part in agents.send_file(agent, sent_file(folder))]
    assert b"".join(parts) == CONTENT
    await wait_until_ended(tmp_path)


async def test_changed_file_is_not_sent_completely(agents: HttpAgents, agent: NodeRef, folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "b.rdb").write_bytes(CONTENT[:-1] + b"!")
    received = []

    async def receive() -> None:
        received.extend([len(part) async for part in agents.send_file(agent, sent_file(folder))])

    with pytest.raises(AgentError):
        await receive()
    assert received == []


@pytest.mark.parametrize(("field", "value", "reason"), [("path", "missing", "No such file"), ("bytes", 5, "changed")])
async def test_reason_why_a_file_is_not_sent(
    agents: HttpAgents, agent: NodeRef, folder: Path, field: str, value: object, reason: str
) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "b.rdb").write_bytes(b"abc")
    with pytest.raises(AgentRefused, match=reason):
        await anext(agents.send_file(agent, sent_file(folder, b"abc", **{field: value})))


async def test_incomplete_file_does_not_become_visible(
    agents: HttpAgents, agent: NodeRef, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(AgentRefused, match=r"ended after 9 of 20 bytes\."):
        await agents.receive_file(agent, received_file(folder, 20), parts_of(b"REDIS0011"))

    async def broken() -> AsyncIterator[bytes]:
        yield CONTENT[:-1]
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await agents.receive_file(agent, received_file(folder), broken())
    await wait_until_ended(tmp_path)
    assert files_of(folder) == []


async def test_location_that_cannot_be_written(agents: HttpAgents, agent: NodeRef, tmp_path: Path) -> None:
    with pytest.raises(AgentRefused, match="state directory"):
        await agents.receive_file(agent, received_file(tmp_path), parts_of(CONTENT))


async def test_process_ends_when_the_console_stops_reading(
    agents: HttpAgents, agent: NodeRef, folder: Path, tmp_path: Path
) -> None:
    (folder / "a").mkdir()
    content = bytes(40 * 2**20)
    (folder / "a" / "b.rdb").write_bytes(content)
    async with aclosing(agents.send_file(agent, sent_file(folder, content))) as parts:
        await anext(parts)
        (directory,) = (tmp_path / "agent" / "streams").iterdir()
        assert directory.is_dir()
    await wait_until_ended(tmp_path)


async def test_next_agent_ends_streams_of_a_killed_one(
    authority: ConsoleCa, agents: HttpAgents, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "agent" / "streams" / ("0" * 32)).mkdir(parents=True)
    async with running_agent(tmp_path / "agent", authority, backup_roots=(folder,)):
        await wait_until_ended(tmp_path)


async def test_file_of_a_killed_process_is_removed_with_its_upload(
    agents: HttpAgents, agent: NodeRef, folder: Path, tmp_path: Path
) -> None:
    async def until_killed() -> AsyncIterator[bytes]:
        yield CONTENT[:-1]
        await wait_until(lambda: list(folder.rglob("*.part")))
        (directory,) = (tmp_path / "agent" / "streams").iterdir()
        for process, _ in processes_in([directory.resolve()]):
            process.kill()
        yield CONTENT[-1:]

    with pytest.raises(AgentRefused, match="ended unexpectedly"):
        await agents.receive_file(agent, received_file(folder), until_killed())
    assert [path.endswith(".part") for path in files_of(folder)] == [True]
    Folder(MountPoint(path=str(folder)), [folder]).delete(["a/b.rdb"])
    assert files_of(folder) == []
