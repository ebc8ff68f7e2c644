"""Users may run CLUSTER and INFO on shards only until all proxies support that they may not."""

import pytest
from backend.tests.reconcilers.access.test_acl_users import ANN, add_ann, create_with_readers, mark_shards_running
from backend.tests.reconcilers.loop_helpers import shard_rows

from shardboard.console import Console
from shardboard.contract.canary import info_section
from shardboard.domain.access.internals import SHOWN, hiding_rules
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import load_database
from shardboard.reconcilers.access.acl_users import AccessLoop
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


def default_user_rules(agents: FakeAgents) -> set[tuple[str, ...]]:
    """Return the rules that were added to default users, and forget the commands."""
    found = {argv[3:] for _, argv in agents.commands if argv[:3] == ("ACL", "SETUSER", "default")}
    agents.commands.clear()
    return found


async def report_support(console: Console, *, supported: bool) -> None:
    async with console.store.begin() as session:
        for node in await nodes.list_all(session):
            node.facts = {**node.facts, "hides_internals": supported or node.uid != 1}


async def disabled_commands(console: Console, uid: int) -> tuple[str, ...]:
    async with console.store.read() as session:
        bdb = await bdbs.by_uid(session, uid)
        assert bdb is not None
        return tuple(load_database.engine_settings(bdb).disabled_commands)


async def test_internals_are_hidden_when_all_proxies_support_it(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    await add_ann(console)
    loop = AccessLoop(console.store, console.bus, agents)
    await report_support(console, supported=False)
    agents.commands.clear()
    await loop.sweep()
    assert default_user_rules(agents) == set()
    assert await disabled_commands(console, uid) == ()

    await report_support(console, supported=True)
    await loop.sweep()
    async with console.store.read() as session:
        bdb = await bdbs.by_uid(session, uid)
        assert bdb is not None
        hidden = hiding_rules([info_section(bdb.admin_password)])
    assert default_user_rules(agents) == {hidden}
    assert await disabled_commands(console, uid) == hidden, "shards that start have the same rights"
    for row in await shard_rows(console, uid):
        rules = agents.engine_users[row.uid][ANN]
        assert {"-cluster", "-info"} <= set(rules)
        assert not any(rule.startswith("+info") for rule in rules), "the role has no INFO"
    await loop.sweep()
    assert default_user_rules(agents) == set(), "nothing has changed"

    async with console.store.begin() as session:
        cluster = await clusters.load(session)
        cluster.policy = {**cluster.policy, "canary_writes_per_second": 0}
    await loop.sweep()
    assert default_user_rules(agents) == {SHOWN}
    assert await disabled_commands(console, uid) == ()


async def test_interrupted_changes_are_applied_by_the_next_console(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    await report_support(console, supported=True)
    agents.refusals = {row.uid: "ERR busy" for row in await shard_rows(console, uid)}
    await AccessLoop(console.store, console.bus, agents).sweep()
    agents.refusals = {}
    default_user_rules(agents)
    await AccessLoop(console.store, console.bus, agents).sweep()
    [rules] = default_user_rules(agents)
    assert rules[:2] == ("-cluster", "-info")


async def test_restarted_shards_get_the_rules_of_their_database(console: Console, agents: FakeAgents) -> None:
    uid = await create_with_readers(console)
    await report_support(console, supported=True)
    loop = AccessLoop(console.store, console.bus, agents)
    await loop.sweep()
    default_user_rules(agents)
    await mark_shards_running(console, uid, pid=1000)
    loop._default_users._due = 0.0  # instead of waiting
    await loop.sweep()
    assert len(default_user_rules(agents)) == 1
