"""Replacement of the internal password: every shard accepts all passwords in use at every step, and only the new one at the end."""

import asyncio
import hashlib
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import (
    ADMIN,
    Gate,
    GatedAgents,
    GatedStore,
    create_active_database,
    events_of_bdb,
    get_bdb,
    latest_action,
    running_loops,
    shard_rows,
    wait_for_status,
)
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.contract import ChangePassword, canary
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentOutdated, Conflict, NotFound
from shardboard.reconcilers import load_database
from shardboard.services.databases import bdb_passwords as service
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def request_reset(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        await service.reset_admin_password(session, uid, ADMIN)


async def get_existing_bdb(console: Console, uid: int) -> Bdb:
    bdb = await get_bdb(console, uid)
    assert bdb is not None
    return bdb


def accepted(agents: FakeAgents, uid: int, user: str, first: str) -> set[str]:
    """Return the password hashes that a shard accepts for the user after all commands so far."""
    hashes = {hashlib.sha256(first.encode()).hexdigest()}
    for shard, argv in agents.commands:
        if shard == uid and argv[:3] == ("ACL", "SETUSER", user):
            hashes = set() if "resetpass" in argv else hashes
            hashes |= {word[1:] for word in argv if word.startswith("#")}
    return hashes


def accepted_for_admin(agents: FakeAgents, uid: int, first: str) -> set[str]:
    return accepted(agents, uid, "shardboard", first)


def digest(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


async def test_the_password_is_replaced_on_every_shard(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    first = (await get_existing_bdb(console, uid)).admin_password
    before = [row.uid for row in await shard_rows(console, uid)]
    async with running_loops(console):
        await request_reset(console, uid)
        assert (await get_existing_bdb(console, uid)).admin_password == first, "not before all shards have it"
        await wait_for_status(console, uid, "active")
    after = await get_existing_bdb(console, uid)
    new_password = after.admin_password
    assert (new_password != first, after.next_admin_password, after.status_detail) == (True, "", "")
    for shard in before:
        assert accepted_for_admin(agents, shard, first) == {digest(new_password)}
        assert accepted(agents, shard, canary.USER, canary.derive_password(first)) == {
            digest(canary.derive_password(new_password))
        }
        assert agents.admin_passwords[shard] == new_password
        assert [argv for each, argv in agents.commands if each == shard][-1] == ("CONFIG", "REWRITE")
    assert [event.type for event in await events_of_bdb(console, uid)][-2:] == [
        "bdb_admin_password_request",
        "bdb_admin_password_reset",
    ]
    text = " ".join(event.description + repr(event.details) for event in await events_of_bdb(console, uid))
    assert not any(each in text for each in (first, new_password))
    assert [row.uid for row in await shard_rows(console, uid)] == before


async def test_killed_at_every_step_no_client_is_locked_out(
    console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    uid = await create_active_database(console)
    shards = [row.uid for row in await shard_rows(console, uid)]
    for step in sampling.kill_steps(60, 500):
        agents.commands.clear()
        agents.admin_passwords.clear()
        first = (await get_existing_bdb(console, uid)).admin_password
        gate = Gate(step)
        await request_reset(console, uid)
        async with running_loops(
            console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate), removal=False
        ):
            completion = asyncio.create_task(wait_for_status(console, uid, "active"))
            await asyncio.wait(
                {completion, asyncio.create_task(gate.reached.wait())}, return_when=asyncio.FIRST_COMPLETED
            )
            completion.cancel()
        bdb = await get_existing_bdb(console, uid)
        for shard in shards:  # every shard accepts every password that is in use
            used = {bdb.admin_password, *(agents.admin_passwords.get(each, first) for each in shards)}
            assert {digest(each) for each in used} <= accepted_for_admin(agents, shard, first)
        async with running_loops(console):
            await wait_for_status(console, uid, "active")
        new_password = (await get_existing_bdb(console, uid)).admin_password
        assert new_password != first
        assert all(accepted_for_admin(agents, shard, first) == {digest(new_password)} for shard in shards)
        if not gate.reached.is_set():
            return
    raise AssertionError("the operation never completed")


@pytest.mark.parametrize("stage", ["SETUSER", "change_password"])
async def test_shards_that_refuse_are_retried(
    console: Console, agents: FakeAgents, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await create_active_database(console)
    first = (await get_existing_bdb(console, uid)).admin_password
    shard = (await shard_rows(console, uid))[0].uid
    if stage == "SETUSER":
        agents.refusals[shard] = "BUSY"
    else:
        change_password = agents.change_password

        async def refused(*arguments: Any) -> Any:
            agents.refusals[shard] = "it does not run"
            try:
                return await change_password(*arguments)
            finally:
                del agents.refusals[shard]

        monkeypatch.setattr(agents, "change_password", refused)

    async def waits() -> bool:
        return "unreachable_since" in (await latest_action(console, uid)).params

    async with running_loops(console):
        await request_reset(console, uid)
        await wait_until(waits)
        assert (await get_existing_bdb(console, uid)).admin_password == first
        monkeypatch.undo()
        agents.refusals.clear()
        await wait_for_status(console, uid, "active")
    assert (await get_existing_bdb(console, uid)).admin_password != first


async def expire_deadline(console: Console, uid: int) -> Bdb:
    """Let the deadline of the action pass. Return the database after the action failed."""
    async with console.store.begin() as session:
        late = await session.merge(await latest_action(console, uid))
        late.deadline_at = late.created_at
    return await wait_for_status(console, uid, "active")


async def test_a_failure_before_first_use_discards_the_new_password(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    first = (await get_existing_bdb(console, uid)).admin_password
    agents.unreachable = {(await shard_rows(console, uid))[0].node_uid}
    await request_reset(console, uid)
    async with running_loops(console):
        failed = await expire_deadline(console, uid)
    assert (failed.admin_password, failed.next_admin_password) == (first, "")
    assert "was not changed on all shards" in failed.status_detail


async def test_a_partly_used_password_is_continued_by_the_next_action(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await create_active_database(console)
    first = (await get_existing_bdb(console, uid)).admin_password
    shard = (await shard_rows(console, uid))[0].uid
    change_password = agents.change_password

    async def refused(node: NodeRef, request: ChangePassword) -> Any:
        agents.refusals |= {shard: "BUSY"} if request.password != first else {}
        try:
            return await change_password(node, request)
        finally:
            agents.refusals.clear()

    monkeypatch.setattr(agents, "change_password", refused)
    await request_reset(console, uid)
    next_password = (await get_existing_bdb(console, uid)).next_admin_password
    async with running_loops(console):
        await wait_until(lambda: next_password in agents.admin_passwords.values())
        failed = await expire_deadline(console, uid)
    assert (failed.admin_password, failed.next_admin_password) == (first, next_password)
    assert agents.admin_passwords[shard] == first
    engine = load_database.engine_settings(failed)
    assert (engine.admin_password, engine.next_admin_password) == (first, next_password), (
        "a shard that starts now accepts both"
    )
    monkeypatch.undo()
    await request_reset(console, uid)
    async with running_loops(console):
        assert (await wait_for_status(console, uid, "active")).admin_password == next_password


async def test_an_agent_of_the_previous_release_prevents_any_change(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await create_active_database(console)
    first = (await get_existing_bdb(console, uid)).admin_password
    agents.commands.clear()

    async def outdated(*_: Any) -> Any:
        raise AgentOutdated("the agent of node 2 is of the release before; upgrade it")

    monkeypatch.setattr(agents, "change_password", outdated)
    await request_reset(console, uid)
    async with running_loops(console):
        failed = await wait_for_status(console, uid, "active")
    assert (failed.admin_password, failed.next_admin_password) == (first, "")
    assert "of the release before; upgrade it" in failed.status_detail
    assert not [argv for _, argv in agents.commands if argv[:2] == ("ACL", "SETUSER")]


async def test_resets_that_are_not_possible_are_rejected(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    with pytest.raises(NotFound):
        await request_reset(console, 77)
    await request_reset(console, uid)
    with pytest.raises(Conflict, match="is active-change-pending"):
        await request_reset(console, uid)
    async with running_loops(console):
        await wait_for_status(console, uid, "active")
    async with console.store.begin() as session:
        row = (await shard_rows(console, uid))[0]
        (await session.merge(row)).observed_status = "down"
    with pytest.raises(Conflict, match=f"redis:{row.uid} is down"):
        await request_reset(console, uid)
