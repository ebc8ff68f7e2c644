"""A database gets another internal password: everybody is let in at every moment, and in the end only by the new one."""

import asyncio
import hashlib
from typing import Any

import pytest
from backend.tests.reconcilers.loops import (
    ADMIN,
    Gate,
    GatedAgents,
    GatedStore,
    action,
    bdb,
    created,
    reach,
    rows,
    running,
    told,
)
from backend.tests.sampling import Sampling
from backend.tests.shards import until

from shardboard.agent.contract import ChangePassword, canary
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.errors import AgentBehind, Conflict, NotFound
from shardboard.reconcilers import load
from shardboard.services import bdb_passwords as service
from shardboard.state.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def order(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        await service.reset_admin(session, uid, ADMIN)


async def known(console: Console, uid: int) -> Bdb:
    found = await bdb(console, uid)
    assert found is not None
    return found


def accepted(agents: FakeAgents, uid: int, user: str, first: str) -> set[str]:
    """Hashes by which a shard lets that user in, after all that it was told."""
    found = {hashlib.sha256(first.encode()).hexdigest()}
    for shard, argv in agents.commands:
        if shard == uid and argv[:3] == ("ACL", "SETUSER", user):
            found = set() if "resetpass" in argv else found
            found |= {word[1:] for word in argv if word.startswith("#")}
    return found


def in_by(agents: FakeAgents, uid: int, first: str) -> set[str]:
    return accepted(agents, uid, "shardboard", first)


def digest(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


async def test_it_is_another_one_everywhere(console: Console, agents: FakeAgents) -> None:
    uid = await created(console)
    first = (await known(console, uid)).admin_password
    before = [row.uid for row in await rows(console, uid)]
    async with running(console):
        await order(console, uid)
        assert (await known(console, uid)).admin_password == first, "not before the shards know it"
        await reach(console, uid, "active")
    after = await known(console, uid)
    fresh = after.admin_password
    assert (fresh != first, after.next_admin_password, after.status_detail) == (True, "", "")
    for shard in before:
        assert in_by(agents, shard, first) == {digest(fresh)}
        assert accepted(agents, shard, canary.USER, canary.password(first)) == {digest(canary.password(fresh))}
        assert agents.admin_passwords[shard] == fresh
        assert [argv for each, argv in agents.commands if each == shard][-1] == ("CONFIG", "REWRITE")
    assert [event.type for event in await told(console, uid)][-2:] == [
        "bdb_admin_password_request",
        "bdb_admin_password_reset",
    ]
    said = " ".join(event.description + repr(event.details) for event in await told(console, uid))
    assert not any(each in said for each in (first, fresh))
    assert [row.uid for row in await rows(console, uid)] == before


async def test_killed_at_every_step_nobody_is_locked_out(
    console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    uid = await created(console)
    shards = [row.uid for row in await rows(console, uid)]
    for step in sampling.kill_steps(60, 500):
        agents.commands.clear()
        agents.admin_passwords.clear()
        first = (await known(console, uid)).admin_password
        gate = Gate(step)
        await order(console, uid)
        async with running(
            console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate), removal=False
        ):
            ended = asyncio.create_task(reach(console, uid, "active"))
            await asyncio.wait({ended, asyncio.create_task(gate.reached.wait())}, return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
        stopped = await known(console, uid)
        for shard in shards:  # whatever anybody has by now opens every shard
            used = {stopped.admin_password, *(agents.admin_passwords.get(each, first) for each in shards)}
            assert {digest(each) for each in used} <= in_by(agents, shard, first)
        async with running(console):
            await reach(console, uid, "active")
        fresh = (await known(console, uid)).admin_password
        assert fresh != first
        assert all(in_by(agents, shard, first) == {digest(fresh)} for shard in shards)
        if not gate.reached.is_set():
            return
    raise AssertionError("it never came through")


@pytest.mark.parametrize("stage", ["SETUSER", "change_password"])
async def test_shards_that_refuse_are_waited_for(
    console: Console, agents: FakeAgents, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await created(console)
    first = (await known(console, uid)).admin_password
    shard = (await rows(console, uid))[0].uid
    if stage == "SETUSER":
        agents.refuse[shard] = "BUSY"
    else:
        change = agents.change_password

        async def refused(*arguments: Any) -> Any:
            agents.refuse[shard] = "it does not run"
            try:
                return await change(*arguments)
            finally:
                del agents.refuse[shard]

        monkeypatch.setattr(agents, "change_password", refused)

    async def waits() -> bool:
        return "unreachable_since" in (await action(console, uid)).params

    async with running(console):
        await order(console, uid)
        await until(waits)
        assert (await known(console, uid)).admin_password == first
        monkeypatch.undo()
        agents.refuse.clear()
        await reach(console, uid, "active")
    assert (await known(console, uid)).admin_password != first


async def give_up(console: Console, uid: int) -> Bdb:
    """The order's time is over."""
    async with console.store.begin() as session:
        late = await session.merge(await action(console, uid))
        late.deadline_at = late.created_at
    return await reach(console, uid, "active")


async def test_one_that_fails_before_anybody_uses_it_leaves_nothing(console: Console, agents: FakeAgents) -> None:
    uid = await created(console)
    first = (await known(console, uid)).admin_password
    agents.unreachable = {(await rows(console, uid))[0].node_uid}
    await order(console, uid)
    async with running(console):
        failed = await give_up(console, uid)
    assert (failed.admin_password, failed.next_admin_password) == (first, "")
    assert "was not changed everywhere" in failed.status_detail


async def test_one_that_some_use_already_stays_good_and_the_next_order_goes_on_with_it(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await created(console)
    first = (await known(console, uid)).admin_password
    shard = (await rows(console, uid))[0].uid
    change = agents.change_password

    async def refused(node: NodeRef, asked: ChangePassword) -> Any:
        agents.refuse |= {shard: "BUSY"} if asked.password != first else {}
        try:
            return await change(node, asked)
        finally:
            agents.refuse.clear()

    monkeypatch.setattr(agents, "change_password", refused)
    await order(console, uid)
    wanted = (await known(console, uid)).next_admin_password
    async with running(console):
        await until(lambda: wanted in agents.admin_passwords.values())
        failed = await give_up(console, uid)
    assert (failed.admin_password, failed.next_admin_password) == (first, wanted)
    assert agents.admin_passwords[shard] == first
    started = load.engine(failed)
    assert (started.admin_password, started.next_admin_password) == (first, wanted), "who comes now lets both in"
    monkeypatch.undo()
    await order(console, uid)
    async with running(console):
        assert (await reach(console, uid, "active")).admin_password == wanted


async def test_where_an_agent_is_of_the_release_before_nothing_is_changed(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await created(console)
    first = (await known(console, uid)).admin_password
    agents.commands.clear()

    async def behind(*_: Any) -> Any:
        raise AgentBehind("the agent of node 2 is of the release before; upgrade it")

    monkeypatch.setattr(agents, "change_password", behind)
    await order(console, uid)
    async with running(console):
        failed = await reach(console, uid, "active")
    assert (failed.admin_password, failed.next_admin_password) == (first, "")
    assert "of the release before; upgrade it" in failed.status_detail
    assert not [argv for _, argv in agents.commands if argv[:2] == ("ACL", "SETUSER")]


async def test_when_it_cannot_be_ordered(console: Console, agents: FakeAgents) -> None:
    uid = await created(console)
    with pytest.raises(NotFound):
        await order(console, 77)
    await order(console, uid)
    with pytest.raises(Conflict, match="is active-change-pending"):
        await order(console, uid)
    async with running(console):
        await reach(console, uid, "active")
    async with console.store.begin() as session:
        row = (await rows(console, uid))[0]
        (await session.merge(row)).observed_status = "down"
    with pytest.raises(Conflict, match=f"redis:{row.uid} is down"):
        await order(console, uid)
