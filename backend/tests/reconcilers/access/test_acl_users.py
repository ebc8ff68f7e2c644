"""Users of the engines follow roles, permissions and passwords on every shard."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from backend.tests.reconcilers.loop_helpers import (
    ADMIN,
    create_active_database,
    events_of_bdb,
    running_loops,
    shard_rows,
    wait_for_status,
)

from shardboard.console import Console
from shardboard.contract import known_rules, numbered_database_rules
from shardboard.domain.access.acl_rules import GUARD, engine_rules
from shardboard.driver.fake_agents import FakeAgents
from shardboard.errors import NotAcceptable
from shardboard.reconcilers.access.acl_users import AccessLoop
from shardboard.services.access import roles_and_acls
from shardboard.services.access import users as user_accounts
from shardboard.services.access.authorization import set_admin
from shardboard.services.access.role_assignments import RoleAssignment
from shardboard.services.access.users import AccountChanges, PasswordHashes
from shardboard.services.databases import bdbs as service
from shardboard.state.access import acl_users
from shardboard.state.access.users import User
from shardboard.state.databases import shards

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

ANN = "ann@example.org"


def new_password(text: str) -> PasswordHashes:
    return PasswordHashes(f"argon2 of {text}", acl_users.digest(text))


async def grant(console: Console, uid: int, *pairs: tuple[int, int]) -> None:
    """Grant (role, ACL) pairs on the database and wait until it is active."""
    async with console.store.begin() as session:
        permissions = [{"role_uid": role, "redis_acl_uid": acl} for role, acl in pairs]
        await service.update(session, uid, {"roles_permissions": permissions}, ADMIN)
    async with running_loops(console):
        await wait_for_status(console, uid, "active")


async def create_with_readers(console: Console) -> int:
    """Create a database on which role 17 may read `cache:*`. Return its uid."""
    uid = await create_active_database(console)
    async with console.store.begin() as session:
        await roles_and_acls.create_acl(session, "cache", "+@read ~cache:*", ADMIN)
        await roles_and_acls.create_role(session, "readers", "none", [], ADMIN)
    await grant(console, uid, (17, 17))
    await mark_shards_running(console, uid)
    return uid


async def mark_shards_running(console: Console, uid: int, pid: int = 1) -> None:
    """Mark all shards of the database as running. The process id of a shard is `pid` plus its uid."""
    async with console.store.begin() as session:
        for row in await shards.list_for_bdb(session, uid):
            row.observed_status, row.observed_pid, row.observed_started_at = "ok", pid + row.uid, datetime.now(UTC)


async def add_ann(console: Console, text: str = "correct-horse", role: int | None = 17) -> int:
    async with console.store.begin() as session:
        role_spec = RoleAssignment("none", role)
        return (await user_accounts.create(session, ANN, "", new_password(text), role_spec, ADMIN)).uid


def rules_of_ann(agents: FakeAgents, shard_uids: Sequence[int]) -> set[tuple[str, ...]]:
    """Return the rules that these shards have for Ann; an empty tuple stands for a shard without this user."""
    return {agents.engine_users[uid].get(ANN, ()) for uid in shard_uids}


def expected_rules(text: str, *rules: str, disabled: Sequence[str] = ()) -> tuple[str, ...]:
    return ("reset", "on", f"#{acl_users.digest(text)}", *rules, *GUARD, *disabled, *numbered_database_rules(""))


READER = known_rules(engine_rules("+@read ~cache:*", all_channels=False)[: -len(GUARD)], "")


async def test_users_with_a_role_are_created_on_every_shard(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    loop = AccessLoop(console.store, console.bus, agents)
    ann = await add_ann(console)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {expected_rules("correct-horse", *READER)}
    agents.commands.clear()
    await loop.sweep()
    assert agents.commands == []
    async with console.store.begin() as session:
        await roles_and_acls.change_acl(session, 17, None, "+get ~*", ADMIN)
        await user_accounts.change(session, ann, AccountChanges(password=new_password("another one")), ADMIN)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {expected_rules("another one", "+get", "~*")}
    assert "correct-horse" not in str(agents.commands)
    assert {argv for _, argv in agents.commands if argv[0] == "CONFIG"} == {("CONFIG", "REWRITE")}
    async with console.store.begin() as session:
        await user_accounts.remove(session, ann, ADMIN)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {()}


async def test_removed_permissions_remove_users_until_they_are_granted_again(
    console: Console, agents: FakeAgents
) -> None:
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    await add_ann(console)
    await AccessLoop(console.store, console.bus, agents).sweep()
    await grant(console, uid)
    await mark_shards_running(console, uid)
    # Another console does not know what the previous one sent.
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {()}
    agents.commands.clear()
    await loop.sweep()
    assert agents.commands == []
    await grant(console, uid, (17, 17))
    await mark_shards_running(console, uid)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {expected_rules("correct-horse", *READER)}


async def test_a_new_process_gets_its_users_again(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    agents.engine_users.clear()
    await mark_shards_running(console, uid, pid=1000)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {expected_rules("correct-horse", *READER)}


async def test_a_removed_user_is_deleted_from_a_shard_that_restarts(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    first = (await shard_rows(console, uid))[0].uid
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
    # The configuration file of the shard still contains Ann when it restarts.
    assert rules_of_ann(agents, [first]) != {()}
    await mark_shards_running(console, uid, pid=1000)
    await loop.sweep()
    assert rules_of_ann(agents, [first]) == {()}


async def test_a_role_that_is_assigned_or_allowed_later_gives_access_without_a_sign_in(
    console: Console, agents: FakeAgents
) -> None:
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    ann = await add_ann(console, role=None)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {()}
    async with console.store.begin() as session:
        await user_accounts.change(session, ann, AccountChanges(role=RoleAssignment("none", 17)), ADMIN)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {expected_rules("correct-horse", *READER)}


async def test_a_password_of_an_earlier_release_gives_access_once_its_hash_is_known(
    console: Console, agents: FakeAgents
) -> None:
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    ann = await add_ann(console)
    async with console.store.begin() as session:
        user = await session.get_one(User, ann)
        user.data_hash = None
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {()}
    async with console.store.begin() as session:
        await user_accounts.save_data_hash(session, ann, user.password_hash, acl_users.digest("correct-horse"))
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {expected_rules("correct-horse", *READER)}


async def test_users_can_authenticate_with_their_username_and_their_name(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    first = (await shard_rows(console, uid))[0].uid
    role = RoleAssignment("none", 17)
    async with console.store.begin() as session:
        for email, name in (
            (ANN, "ann"),
            ("", "app"),
            ("bob@example.org", "Same"),
            ("eve@example.org", "same"),
            ("mallory@example.org", "BOB@example.org"),
            ("dan@example.org", "two words"),
            ("default-user", "default"),
            ("uma@example.org", "user"),
            ("eda@example.org", "u\u017fer"),
        ):
            await user_accounts.create(session, email, name, new_password(f"of {email}"), role, ADMIN)
        # The provider of single sign-on defines this name.
        await user_accounts.create(session, "sso@example.org", "ANN", None, role, ADMIN)
    await AccessLoop(console.store, console.bus, agents).sweep()
    assert agents.engine_users[first].keys() == {
        *(
            ANN,
            "ann",
            "app",
            "bob@example.org",
            "eve@example.org",
            "mallory@example.org",
            "dan@example.org",
            "default-user",
            "uma@example.org",
            "user",
            "eda@example.org",
        )
    }
    assert agents.engine_users[first]["ann"] == agents.engine_users[first][ANN]


async def test_users_with_several_roles_have_the_access_of_all(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    first = (await shard_rows(console, uid))[0].uid
    async with console.store.begin() as session:
        await roles_and_acls.create_acl(session, "queue", "+@write ~queue:*", ADMIN)
        await roles_and_acls.create_role(session, "writers", "none", [], ADMIN)
    await grant(console, uid, (17, 17), (18, 18))
    await mark_shards_running(console, uid)
    async with console.store.begin() as session:
        both = await roles_and_acls.requested_role(session, None, [18, 17])
        assert both is not None
        await user_accounts.create(session, ANN, "", new_password("correct-horse"), both, ADMIN)
    await AccessLoop(console.store, console.bus, agents).sweep()
    (rules,) = rules_of_ann(agents, [first])
    assert {"+@read", "~cache:*"} <= set(rules)
    (selector,) = [rule for rule in rules if rule.startswith("(")]
    assert selector.startswith("(+@write ~queue:* ")
    assert all(rule in selector for rule in GUARD)


async def test_a_refusing_shard_is_reported_once_and_retried(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    first = (await shard_rows(console, uid))[0].uid
    await add_ann(console)
    command = " ".join(("ACL", "SETUSER", ANN, *expected_rules("correct-horse", *READER)))
    agents.replies[first, command] = "-ERR Error in ACL SETUSER modifier"
    loop = AccessLoop(console.store, console.bus, agents)
    for _ in range(3):
        await loop.sweep()
    failures = [each for each in await events_of_bdb(console, uid) if each.type == "bdb_access_failed"]
    assert [each.description for each in failures] == [
        f"Users of shop could not be set on shard redis:{first}: ERR Error in ACL SETUSER modifier"
    ]
    # Other users are still created.
    async with console.store.begin() as session:
        await user_accounts.create(session, "bob", "", new_password("bobs own"), RoleAssignment("none", 17), ADMIN)
    await loop.sweep()
    assert "bob" in agents.engine_users[first]
    agents.replies.clear()
    await loop.sweep()
    assert rules_of_ann(agents, [first]) == {expected_rules("correct-horse", *READER)}


async def test_reserved_user_names_are_not_created(console: Console, agents: FakeAgents) -> None:
    """Users with such names can exist since an earlier release."""
    uid = await create_with_readers(console)
    async with console.store.begin() as session:
        role_spec = RoleAssignment("none", 17)
        for name in ("shardboard", "two words"):
            with pytest.raises(NotAcceptable):
                await user_accounts.create(session, name, "", new_password("mine now"), role_spec, ADMIN)
            other = name.replace(" ", "-") + "-x"
            user = await user_accounts.create(session, other, "", new_password("mine now"), role_spec, ADMIN)
            user.email = name
    agents.commands.clear()
    await AccessLoop(console.store, console.bus, agents).sweep()
    assert not any("SETUSER" in argv for _, argv in agents.commands)
    assert not any(agents.engine_users[row.uid] for row in await shard_rows(console, uid))


async def test_a_password_reset_removes_the_user_from_all_shards(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    async with console.store.begin() as session:
        await set_admin(session, ANN, "reset it now")
    await loop.sweep()
    assert rules_of_ann(agents, shard_uids) == {()}


async def test_a_failed_user_removal_is_retried(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    first = (await shard_rows(console, uid))[0].uid
    ann = await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    agents.replies[first, f"ACL DELUSER {ANN}"] = "-node 1 did not respond within 5 s"
    async with console.store.begin() as session:
        await user_accounts.remove(session, ann, ADMIN)
    for _ in range(2):
        await loop.sweep()
    assert rules_of_ann(agents, [first]) != {()}
    agents.replies.clear()
    await loop.sweep()
    assert rules_of_ann(agents, [first]) == {()}
    assert not [each for each in await events_of_bdb(console, uid) if each.type == "bdb_access_failed"]


async def test_disabled_commands_are_denied_to_all_users(console: Console, agents: FakeAgents) -> None:
    """The access loop denies them to users with roles, the change of the database to the default user."""
    uid = await create_with_readers(console)
    shard_uids = [row.uid for row in await shard_rows(console, uid)]
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    agents.commands.clear()
    async with console.store.begin() as session:
        await service.update(session, uid, {"disabled_commands": "KEYS, FlushAll"}, ADMIN)
    async with running_loops(console):
        await wait_for_status(console, uid, "active")
    await mark_shards_running(console, uid)
    await loop.sweep()
    disabled = ("-keys", "-flushall")
    assert rules_of_ann(agents, shard_uids) == {expected_rules("correct-horse", *READER, disabled=disabled)}
    default_user_commands = [argv for _, argv in agents.commands if argv[:3] == ("ACL", "SETUSER", "default")]
    assert {argv[-2:] for argv in default_user_commands} == {disabled}
