"""Users whose rules name some keys cannot use the commands of the module for other keys."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lab import Lab, wait_for
from tiered import all_on_flash, info
from wire import Connection, Failure

from shardboard.domain.access.acl_rules import engine_rules
from shardboard.local.loopback import claim_network

PORT = 21821


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab(f"{claim_network()}.2")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("acl", ["+@all ~tenant:*", "+@read +@write +@connection ~tenant:*"])
def test_narrow_users_learn_nothing_about_other_keys(lab: Lab, acl: str) -> None:
    lab.server(PORT, *all_on_flash(lab, PORT))
    owner, narrow = Connection((lab.address, PORT)), Connection((lab.address, PORT))
    for name in ("tenant:1", "other:cold"):
        owner.execute("SET", name, "x" * 1000)
    wait_for(lambda: info(owner)["tier_values_flash"] == "2", "both values on flash")
    rules = engine_rules(acl, all_channels=False, on_flash=True)
    owner.execute("ACL", "SETUSER", "narrow", "reset", "on", ">narrow", *rules)
    narrow.execute("AUTH", "narrow", "narrow")
    if acl.startswith("+@all"):
        assert narrow.execute("TIER.WHERE", "tenant:1") == b"flash"
    assert narrow.execute("GET", "tenant:1") == b"x" * 1000
    for command in ("TIER.WHERE", "TIER.GET", "TIER.HOT", "GET", "STRLEN", "TYPE", "OBJECT ENCODING", "MEMORY USAGE"):
        replies = [narrow.execute(*command.split(), name) for name in ("other:cold", "other:none")]
        assert all(isinstance(reply, Failure) and str(reply).startswith("NOPERM") for reply in replies), (command, replies)
        assert str(replies[0]) == str(replies[1]), f"{command} reveals which keys exist"
    for request in ("TIER.SCAN 0", "TIER.SCAN 0 TYPE string", "SCAN 0 TYPE string", "SCAN 0"):
        assert isinstance(narrow.execute(*request.split()), Failure), request
