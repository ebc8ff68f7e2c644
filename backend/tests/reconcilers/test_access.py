"""Users of the engines follow roles, permissions and passwords, at every shard."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from backend.tests.reconcilers.loops import ADMIN, created, rows, running, told
from backend.tests.reconcilers.loops import reach as reached

from shardboard.console import Console
from shardboard.domain.acl_rules import GUARD
from shardboard.driver.fake import FakeAgents
from shardboard.reconcilers.access import AccessLoop
from shardboard.services import access, user_accounts
from shardboard.services import bdbs as service
from shardboard.services.user_accounts import Changes, GivenRole, NewPassword
from shardboard.services.users import set_admin
from shardboard.state import data_users, shards, users

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

ANN = "ann@example.org"


def password(text: str) -> NewPassword:
    return NewPassword(f"argon2 of {text}", data_users.digest(text))


async def grant(console: Console, uid: int, *pairs: tuple[int, int]) -> None:
    """Which roles have which lists at the database."""
    async with console.store.begin() as session:
        given = [{"role_uid": role, "redis_acl_uid": acl} for role, acl in pairs]
        await service.update(session, uid, {"roles_permissions": given}, ADMIN)
    async with running(console):
        await reached(console, uid, "active")


async def with_readers(console: Console) -> int:
    """A database whose role 17 may read `cache:*`."""
    uid = await created(console)
    async with console.store.begin() as session:
        await access.create_acl(session, "cache", "+@read ~cache:*", ADMIN)
        await access.create_role(session, "readers", "none", [], ADMIN)
    await grant(console, uid, (17, 17))
    await seen(console, uid)
    return uid


async def seen(console: Console, uid: int, pid: int = 1) -> None:
    """All its shards run, as processes of that pid and more."""
    async with console.store.begin() as session:
        for row in await shards.of_bdb(session, uid):
            row.observed_status, row.observed_pid, row.observed_started_at = "ok", pid + row.uid, datetime.now(UTC)


async def add_ann(console: Console, text: str = "correct-horse", role: int | None = 17) -> int:
    async with console.store.begin() as session:
        given = GivenRole("none", role)
        return (await user_accounts.create(session, ANN, "", password(text), given, ADMIN)).uid


def known(agents: FakeAgents, of: Sequence[int]) -> set[tuple[str, ...]]:
    """What shards were told of Ann; empty where one does not know her."""
    return {agents.users[uid].get(ANN, ()) for uid in of}


def rules(text: str, *rules: str) -> tuple[str, ...]:
    return ("reset", "on", f"#{data_users.digest(text)}", *rules, *GUARD)


READER = ("+@read", "~cache:*")


async def test_every_shard_knows_whom_a_role_lets_in(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    of = [row.uid for row in await rows(console, uid)]
    loop = AccessLoop(console.store, console.bus, agents)
    ann = await add_ann(console)
    await loop.sweep()
    assert known(agents, of) == {rules("correct-horse", *READER)}
    agents.commands.clear()
    await loop.sweep()
    assert agents.commands == []
    async with console.store.begin() as session:
        await access.change_acl(session, 17, None, "+get ~*", ADMIN)
        await user_accounts.change(session, ann, Changes(password=password("another one")), ADMIN)
    await loop.sweep()
    assert known(agents, of) == {rules("another one", "+get", "~*")}
    assert "correct-horse" not in str(agents.commands)
    assert {argv for _, argv in agents.commands if argv[0] == "CONFIG"} == {("CONFIG", "REWRITE")}
    async with console.store.begin() as session:
        await user_accounts.remove(session, ann, ADMIN)
    await loop.sweep()
    assert known(agents, of) == {()}


async def test_nobody_is_left_when_permissions_go_and_the_hash_is_forgotten(
    console: Console, agents: FakeAgents
) -> None:
    uid = await with_readers(console)
    of = [row.uid for row in await rows(console, uid)]
    await add_ann(console)
    await AccessLoop(console.store, console.bus, agents).sweep()
    await grant(console, uid)
    await seen(console, uid)
    # Another console, which does not know what the one before has told.
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    assert known(agents, of) == {()}
    async with console.store.read() as session:
        ann = await users.by_email(session, ANN)
        assert ann is not None
        assert ann.data_hash is None
    agents.commands.clear()
    await loop.sweep()
    assert agents.commands == []


async def test_a_process_that_is_new_is_told_again(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    of = [row.uid for row in await rows(console, uid)]
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    agents.users.clear()
    await seen(console, uid, pid=1000)
    await loop.sweep()
    assert known(agents, of) == {rules("correct-horse", *READER)}


async def test_who_is_removed_while_a_shard_is_away_is_removed_from_it_when_it_is_back(
    console: Console, agents: FakeAgents
) -> None:
    uid = await with_readers(console)
    first = (await rows(console, uid))[0].uid
    ann = await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    async with console.store.begin() as session:
        row = await shards.by_uid(session, first)
        assert row is not None
        row.observed_status = "down"
        await user_accounts.remove(session, ann, ADMIN)
    for _ in range(2):
        await loop.sweep()
    # Its file still has her when it starts again.
    assert known(agents, [first]) != {()}
    await seen(console, uid, pid=1000)
    await loop.sweep()
    assert known(agents, [first]) == {()}


async def test_who_had_no_such_role_is_known_once_the_password_is(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    of = [row.uid for row in await rows(console, uid)]
    ann = await add_ann(console, role=None)
    loop = AccessLoop(console.store, console.bus, agents)
    async with console.store.begin() as session:
        await user_accounts.change(session, ann, Changes(role=GivenRole("none", 17)), ADMIN)
    await loop.sweep()
    assert known(agents, of) == {()}
    async with console.store.begin() as session:
        user = await users.by_email(session, ANN)
        assert user is not None
        await user_accounts.note_data_hash(session, user.uid, user.password_hash, data_users.digest("correct-horse"))
    await loop.sweep()
    assert known(agents, of) == {rules("correct-horse", *READER)}


async def test_a_shard_that_refuses_is_told_of_once_and_tried_again(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    first = (await rows(console, uid))[0].uid
    await add_ann(console)
    order = " ".join(("ACL", "SETUSER", ANN, *rules("correct-horse", *READER)))
    agents.told[first, order] = "-ERR Error in ACL SETUSER modifier"
    loop = AccessLoop(console.store, console.bus, agents)
    for _ in range(3):
        await loop.sweep()
    failures = [each for each in await told(console, uid) if each.type == "bdb_access_failed"]
    assert [each.description for each in failures] == [
        f"Users of shop could not be set on shard redis:{first}: ERR Error in ACL SETUSER modifier"
    ]
    # Others are not kept from it.
    async with console.store.begin() as session:
        await user_accounts.create(session, "bob", "", password("bobs own"), GivenRole("none", 17), ADMIN)
    await loop.sweep()
    assert "bob" in agents.users[first]
    agents.told.clear()
    await loop.sweep()
    assert known(agents, [first]) == {rules("correct-horse", *READER)}


async def test_names_of_the_engine_are_nobodys(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    async with console.store.begin() as session:
        given = GivenRole("none", 17)
        await user_accounts.create(session, "shardboard", "", password("mine now"), given, ADMIN)
        await user_accounts.create(session, "two words", "", password("two words"), given, ADMIN)
    agents.commands.clear()
    await AccessLoop(console.store, console.bus, agents).sweep()
    assert not any("SETUSER" in argv for _, argv in agents.commands)
    assert not any(agents.users[row.uid] for row in await rows(console, uid))


async def test_a_password_that_is_reset_is_void_at_data_as_well(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    of = [row.uid for row in await rows(console, uid)]
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    async with console.store.begin() as session:
        await set_admin(session, ANN, "reset it now")
    await loop.sweep()
    assert known(agents, of) == {()}


async def test_who_could_not_be_removed_is_removed_later(console: Console, agents: FakeAgents) -> None:
    uid = await with_readers(console)
    first = (await rows(console, uid))[0].uid
    ann = await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    agents.told[first, f"ACL DELUSER {ANN}"] = "-node 1 did not respond within 5 s"
    async with console.store.begin() as session:
        await user_accounts.remove(session, ann, ADMIN)
    for _ in range(2):
        await loop.sweep()
    assert known(agents, [first]) != {()}
    agents.told.clear()
    await loop.sweep()
    assert known(agents, [first]) == {()}
    assert not [each for each in await told(console, uid) if each.type == "bdb_access_failed"]


async def test_what_a_database_disables_is_nobodys(console: Console, agents: FakeAgents) -> None:
    """At once for those whom roles let in, and for the default user with the order."""
    uid = await with_readers(console)
    of = [row.uid for row in await rows(console, uid)]
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    agents.commands.clear()
    async with console.store.begin() as session:
        await service.update(session, uid, {"disabled_commands": "KEYS, FlushAll"}, ADMIN)
    async with running(console):
        await reached(console, uid, "active")
    await seen(console, uid)
    await loop.sweep()
    disabled = ("-keys", "-flushall")
    assert known(agents, of) == {(*rules("correct-horse", *READER), *disabled)}
    given = [argv for _, argv in agents.commands if argv[:3] == ("ACL", "SETUSER", "default")]
    assert {argv[-2:] for argv in given} == {disabled}
