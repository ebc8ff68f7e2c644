"""Tests of the messages in which consoles announce changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.store.change_notifications import MAX_BYTES, MAX_MESSAGES, decode, encode

CHANGES = st.sets(
    st.tuples(st.sampled_from(["bdb", "action", "event"]), st.integers(1, 1 << 40))
    | st.tuples(st.just("action"), st.text(max_size=40))
)


@given(CHANGES)
def test_messages_announce_every_change(changes: set[tuple[str, int | str]]) -> None:
    messages = [decode(message) for message in encode("me", changes)]
    assert {message.console_id for message in messages} <= {"me"}
    assert sorted((change for message in messages for change in message.changes or ()), key=str) == sorted(
        changes, key=str
    )
    newest = max((uid for kind, uid in changes if kind == "event"), default=0)
    assert {message.newest_event for message in messages} <= {newest}


@pytest.mark.parametrize("length", [1, 32, 1000, 7000])
def test_messages_fit_into_the_limit_of_postgresql(length: int) -> None:
    messages = encode("c" * 32, {("action", f"{number:0{length}}") for number in range(60)})
    assert 1 <= len(messages) <= MAX_MESSAGES
    assert max(len(message.encode()) for message in messages) <= MAX_BYTES


def test_too_many_changes_are_announced_as_one() -> None:
    changes = {("shard", number) for number in range(100_000)} | {("event", 7)}
    assert encode("me", changes) == ['["me",null,7]']


def test_no_changes_need_no_message() -> None:
    assert encode("me", ()) == []


@pytest.mark.parametrize(
    "message", ["", "x", "[]", "{}", "1", '["a",5,1]', '["a",[["bdb"]],1]', '["a",[],"x"]', '["a",[],1,2]']
)
def test_unreadable_message_means_that_everything_may_have_changed(message: str) -> None:
    assert decode(message).changes is None
    assert decode(message).console_id == ""


def test_message_is_compact_json() -> None:
    assert encode("me", {("bdb", 1), ("event", 3)}) == ['["me",[["bdb",1],["event",3]],3]']
    assert json.loads(encode("me", {("action", 'a"ß')})[0])[1] == [["action", 'a"ß']]
