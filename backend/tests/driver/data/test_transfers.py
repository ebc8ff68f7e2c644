"""Requests about transfers, and their test double."""

from typing import Any

import pytest

from shardboard.contract.locations import S3, MountPoint
from shardboard.contract.transfers import (
    MAX_TRANSFERS,
    ListFiles,
    Record,
    RecordResult,
    Snapshot,
    StartTransfer,
    TransferState,
)
from shardboard.driver.agents import HttpAgents
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef

NODE, OTHER = NodeRef(1, "127.0.0.1", 9700), NodeRef(2, "127.0.0.2", 9700)
IDS = [f"{number:032x}" for number in range(3)]


class Recorder(HttpAgents):
    """Returns the same reply to each request, and records their bodies."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.bodies: list[bytes] = []

    async def _call(self, *_: Any, **__: Any) -> Any:
        self.bodies.append(_[5])
        return self.reply


@pytest.mark.parametrize(
    "transfer",
    [
        ListFiles(location=MountPoint(path="/mnt")),
        Snapshot(location=S3(bucket_name="b"), path="a", shard_uid=1, engine_id="a" * 40, slots=[(0, 5)]),
    ],
    ids=lambda transfer: transfer.kind,
)
async def test_request_selects_kind_and_location_without_default_values(transfer: Any) -> None:
    recorder = Recorder(TransferState(id=IDS[0], state="running"))
    request = StartTransfer(id=IDS[0], transfer=transfer)
    await recorder.start_transfer(NODE, request)
    (body,) = recorder.bodies
    assert StartTransfer.model_validate_json(body) == request
    assert b"compression" not in body


async def test_states_have_the_order_of_the_request() -> None:
    recorder = Recorder([TransferState(id=IDS[2], state="running"), TransferState(id="f" * 32, state="running")])
    states = await recorder.transfer_states(NODE, IDS)
    assert [(state.id, state.state) for state in states] == [
        (IDS[0], "absent"),
        (IDS[1], "absent"),
        (IDS[2], "running"),
    ]


async def test_many_transfers_are_requested_in_several_calls() -> None:
    recorder = Recorder([])
    assert len(await recorder.remove_transfers(NODE, [f"{number:032x}" for number in range(MAX_TRANSFERS + 1)])) == 1001
    assert len(recorder.bodies) == 2
    assert await recorder.stop_transfers(NODE, []) == []
    assert len(recorder.bodies) == 2


async def test_fake_transfers_run_until_a_test_ends_them() -> None:
    agents = FakeAgents()
    agents.transfer_results.clear()
    transfer = ListFiles(location=MountPoint(path="/mnt"))
    for identity in IDS:
        assert (await agents.start_transfer(NODE, StartTransfer(id=identity, transfer=transfer))).state == "running"
    agents.set_transfer_progress(IDS[0], bytes=5)
    agents.end_transfer(IDS[1], {"files": []})
    await agents.start_transfer(NODE, StartTransfer(id=IDS[1], transfer=transfer))
    await agents.stop_transfers(NODE, IDS[1:])
    states = await agents.transfer_states(NODE, IDS)
    assert [(state.state, state.progress.bytes, state.result, state.error_code) for state in states] == [
        ("running", 5, None, ""),
        ("ended", 0, {"files": []}, ""),
        ("ended", 0, None, "stopped"),
    ]
    assert [state.state for state in await agents.remove_transfers(OTHER, IDS)] == ["absent"] * 3
    assert [state.state for state in await agents.transfer_states(NODE, IDS[:1])] == ["running"]
    assert [state.state for state in await agents.remove_transfers(NODE, IDS)] == ["absent"] * 3
    agents.transfer_results["list_files"] = {"files": ["a"]}
    state = await agents.start_transfer(NODE, StartTransfer(id=IDS[0], transfer=transfer))
    assert (state.state, state.result) == ("ended", {"files": ["a"]})


async def test_a_recording_of_the_test_double_ends_at_its_position() -> None:
    agents = FakeAgents()
    location = MountPoint(path="/mnt")
    record = Record(location=location, folder="c", shard_uid=1, engine_id="a" * 40, segment_seconds=30)
    await agents.start_transfer(NODE, StartTransfer(id=IDS[0], transfer=record))
    agents.set_transfer_progress(IDS[0], replication_id="b" * 40, offset=7, recorded_until=9)
    (state,) = await agents.stop_transfers(NODE, IDS[:1])
    assert RecordResult.model_validate(state.result).offset == 7
