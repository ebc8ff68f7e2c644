"""Tests of parsing the slow log, client list and INFO output of an engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.databases.engine_diagnostics import ClientLine, SlowCommand, clients, sections, slow_commands


def test_slow_log_is_parsed() -> None:
    first = "[7, 1760400087, 15000, ['KEYS', '*'], '127.0.0.2:51000', 'app']"
    reply = f"[{first}, [6, 1760400000, 11000, [b'GET', b'\\xff'], b'a:1', b'']]"
    assert slow_commands(reply) == [
        SlowCommand(7, 1760400087, 15000, ["KEYS", "*"], "127.0.0.2:51000", "app"),
        SlowCommand(6, 1760400000, 11000, ["GET", "\ufffd"], "a:1", ""),
    ]
    assert slow_commands("[]") == []


@pytest.mark.parametrize(
    "reply", ["", "OK", "5", "[5]", "[[1, 2]]", "[[1, 2, 3, 4, 5, 6]]", "[" * 10_000, "__import__('os')"]
)
def test_invalid_slow_log_is_rejected(reply: str) -> None:
    with pytest.raises(ValueError, match=r"slow log|invalid|malformed"):
        slow_commands(reply)


def test_client_list_is_parsed() -> None:
    app_line = (
        "id=7 addr=127.0.0.2:51000 laddr=127.0.0.1:20000 fd=9 name=app age=61 idle=3 flags=N db=0 tot-mem=2048 "
        "cmd=client|list"
    )
    console_line = "id=9 addr=[valkey.sock:0]:0 flags=U user=shardboard cmd=info tot-mem=9"
    library_line = "id=8 addr=a:1 name= age=1 idle=0 flags=N cmd=NULL user=ann lib-name=valkey-py lib-ver=6.1 tot-mem=5"
    assert clients(f"{app_line} user=default\n{library_line}\nwhat?\nid=x addr=y\n{console_line}\n") == [
        ClientLine(7, "application", "127.0.0.2:51000", "app", "default", "", 61, 3, "client|list", 2048),
        ClientLine(8, "application", "a:1", "", "ann", "valkey-py-6.1", 1, 0, "", 5),
        ClientLine(9, "console", "", "", "shardboard", "", 0, 0, "info", 9),
    ]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ("flags=S user=shardboard", "replica"),
        ("flags=M user=shardboard", "primary"),
        ("flags=N user=shardboard", "console"),
        ("flags=N user=default name=shardboard-proxy", "endpoint"),
        ("flags=N user=default name=another", "application"),
    ],
)
def test_kind_of_a_client_is_detected(fields: str, kind: str) -> None:
    assert [client.kind for client in clients(f"id=1 {fields}")] == [kind]


@given(st.text())
def test_arbitrary_client_values_raise_no_error(text: str) -> None:
    assert all(client.memory_bytes >= 0 for client in clients(f"id=1 tot-mem={text} age={text}"))


@given(st.text())
def test_arbitrary_info_text_raises_no_error(text: str) -> None:
    for values in sections(text).values():
        assert values


def test_info_is_parsed_by_section() -> None:
    text = "# Server\r\nvalkey_version:9.1.2\r\n\r\n# Keyspace\r\ndb0:keys=1,expires=0\r\n# Empty\r\n"
    assert sections(text) == {"Server": {"valkey_version": "9.1.2"}, "Keyspace": {"db0": "keys=1,expires=0"}}
