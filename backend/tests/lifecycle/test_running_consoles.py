"""Tests of complete consoles without agents: a single one leads when it has started, and a second one follows."""

import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.app import open_console, running_loops
from shardboard.console import Console
from shardboard.contract.terms import Term
from shardboard.domain.cluster.consoles import ConsoleStatus
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster import consoles as service
from shardboard.settings import Settings
from shardboard.state.cluster import consoles

pytestmark = pytest.mark.store

ADMIN = Principal("admin@example.org", "admin")


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Console]:
    async with open_console(settings) as (console, _), running_loops(console) as failure:
        yield console
        assert not failure.done()


def leads(console: Console) -> bool:
    return console.leadership.tenure is not None


async def statuses(console: Console) -> dict[str, str]:
    async with console.store.read() as session:
        return {row.uid: row.status for row in await consoles.list_all(session)}


async def test_a_single_console_leads_when_it_has_started(settings: Settings) -> None:
    start = time.monotonic()
    async with running(settings) as console:
        assert time.monotonic() - start < 5
        await wait_until(lambda: leads(console))
        assert console.leadership.term == Term(1, console.id)
        await wait_until(lambda: are_listed(console, 1))
        assert await statuses(console) == {console.id: ConsoleStatus.RUNNING}


async def test_a_second_console_follows_and_takes_over(settings: Settings) -> None:
    async with running(settings) as first:
        if not first.store.is_shared:
            pytest.skip("a SQLite store has one console")
        directory = settings.state_dir / "second"
        directory.mkdir(mode=0o700)
        shutil.copytree(settings.state_dir / "tls", directory / "tls")
        shutil.copy(settings.state_dir / "store.key", directory / "store.key")
        async with running(settings.model_copy(update={"state_dir": directory})) as second:
            assert (leads(first), leads(second)) == (True, False)
            await wait_until(lambda: are_listed(second, 2))
            async with second.store.begin() as session:
                await service.request_lead(session, second.id, ADMIN)
            await wait_until(lambda: leads(second))
            assert not leads(first)
            async with first.store.begin() as session:
                await service.request_lead(session, first.id, ADMIN)
            await wait_until(lambda: leads(first))
            assert not leads(second)
        assert await statuses(first) == {first.id: ConsoleStatus.RUNNING, second.id: ConsoleStatus.STOPPED}


async def are_listed(console: Console, count: int) -> bool:
    return len(await statuses(console)) == count
