"""Parsing of replies of agents: large messages are parsed in another process."""

import json
import os
import time

import pytest

from shardboard.contract import NodeLogs, ShardReport
from shardboard.driver import replies
from shardboard.driver.replies import LARGE_BYTES, LARGE_VALUES, ReplyShape, is_large

REPORT = ShardReport(
    uid=1, bdb_uid=1, engine_id="a" * 40, state="running", pid=os.getpid(), started_at=1.0, run_id="b" * 40
)
MANY = b"[" + b",".join([REPORT.model_dump_json().encode()] * 4_000) + b"]"


@pytest.mark.parametrize(
    ("content", "large"),
    [
        (b"[" + b"0," * (LARGE_BYTES // 2 - 10) + b"0]", False),
        (b"[" + b"0," * LARGE_BYTES + b"0]", True),
        (b'"' + b"x" * 2 * LARGE_BYTES + b'"', False),
        (b'"' + b"x" * replies.MAX_REPLY_BYTES + b'"', True),
        (b"[" + b"[[0]]," * LARGE_VALUES + b"0" + b" " * LARGE_BYTES + b"]", True),
        (MANY, True),
    ],
)
def test_messages_of_many_values_are_large(content: bytes, large: bool) -> None:
    assert is_large(content) is large


@pytest.mark.parametrize("shape", replies.ALL, ids=lambda shape: str(shape.type))
def test_no_small_message_takes_long(shape: ReplyShape[object]) -> None:
    """Messages that are parsed in this process are parsed quickly, whether they conform to the contract or not."""
    filling = (
        b'{"x":[' + b"0," * (LARGE_BYTES // 2 - 20) + b"0]}",
        b"[" + b"0," * (LARGE_BYTES // 2 - 20) + b"0]",
        b'{"died":{' + b'"1":"",' * (LARGE_BYTES // 7 - 20) + b'"1":""}}',
        b"[" + b"{}," * (LARGE_BYTES // 3 - 20) + b"{}]",
    )
    for content in filling:
        assert not is_large(content)
        seconds = min(shape.parse_here(content)[1] for _ in range(3))  # the test may be interrupted on a busy machine
        assert seconds < 0.1


async def test_a_large_message_is_parsed_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplyShape, "parse_here", None)  # not called in this process
    found, seconds = await replies.REPORTS.parse(MANY)
    assert found == [REPORT] * 4_000
    assert 0 < seconds < replies.PARSE_SECONDS


@pytest.mark.parametrize("content", [MANY[:-1], b"[" + b"0," * LARGE_BYTES + b"0]", b"[" * LARGE_BYTES])
async def test_a_large_message_that_does_not_conform_is_refused(content: bytes) -> None:
    found, _ = await replies.REPORTS.parse(content)
    assert found is None


async def test_parsing_ends_after_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "PARSE_SECONDS", 0.0)
    started = time.monotonic()
    assert await replies.REPORTS.parse(MANY) == (None, 0.0)
    assert time.monotonic() - started < 5


async def test_logs_of_many_lines_are_parsed() -> None:
    logs = NodeLogs(shards=dict.fromkeys(range(100), "a line, with commas\n" * 3000))
    content = logs.model_dump_json().encode()
    assert is_large(content)
    found, _ = await replies.LOGS.parse(content)
    assert found == logs
    assert json.loads(content)["agent"] == ""
