"""Parameters of actions are stored as JSON, and those of the previous release are understood."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from backend.tests.support.previous_actions import with_former_keys
from pydantic import ValidationError

from shardboard.actions.bdb_parameters import AdminPasswordParameters, ReshardParameters, UpdateParameters
from shardboard.actions.data_parameters import BackupParameters, RestoreParameters
from shardboard.actions.failure_parameters import (
    DrillParameters,
    FailoverParameters,
    Promotion,
    RepairParameters,
    RequestedFailoverParameters,
    RestartParameters,
    ShardParameters,
)
from shardboard.actions.move_parameters import (
    FailedHandover,
    FullSyncParameters,
    MoveParameters,
    NodeParameters,
    ReplicaHaParameters,
    SwitchBackParameters,
)
from shardboard.actions.parameters import Cancellable, Parameters, Retried, Unreachable, write
from shardboard.actions.verifications import VerificationParameters
from shardboard.domain.cluster.node_status import NodeDuty
from shardboard.domain.placement.full_sync_limit import Transfer
from shardboard.domain.placement.moves import Move
from shardboard.state.cluster.actions import Action

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
NOON_TEXT = "2026-01-02T12:00:00+00:00"
MOVE = Move(bdb=1, pair=0, title="Move", removed=1, new_shard=7, to=3, promote=4, promote_new_shard=True)
FORMER_MOVE = {
    "bdb": 1,
    "pair": 0,
    "title": "Move",
    "leaves": 1,
    "newcomer": 7,
    "to": 3,
    "leads": 4,
    "takes_lead": True,
}
PREVIOUS: list[tuple[dict[str, Any], Parameters]] = [
    (
        {
            "at_once": 2,
            "moves": [FORMER_MOVE],
            "cancellable": True,
            "done": [0],
            "failed": {"1": "why"},
            "committed": [7],
            "eta_seconds": 1.5,
            "handovers": {"4": {"tries": 2, "again_at": NOON_TEXT}},
        },
        MoveParameters(
            concurrent_databases=2,
            moves=(MOVE,),
            cancellable=True,
            done=(0,),
            failed={1: "why"},
            committed=(7,),
            eta_seconds=1.5,
            failed_handovers={4: FailedHandover(2, NOON)},
        ),
    ),
    (
        {"pairs_at_once": 3, "moves": [], "cancellable": False},
        MoveParameters(concurrent_pairs=3),
    ),
    (
        {"duty_before": "", "snapshot": "s", "stay": {"4": "why"}, "moves": [], "cancellable": True},
        NodeParameters(duty_before=NodeDuty.IN_SERVICE, snapshot="s", staying={4: "why"}, cancellable=True),
    ),
    (
        {"node": 2, "situation": 2, "moves": [FORMER_MOVE]},
        ReplicaHaParameters(node=2, situation=2, moves=(MOVE,)),
    ),
    (
        {"situation": [4, None], "moves": [FORMER_MOVE]},
        SwitchBackParameters(situation=[4, None], moves=(MOVE,)),
    ),
    ({"changed": ["name"]}, UpdateParameters(changed=("name",))),
    ({"at": 1}, AdminPasswordParameters(at=1)),
    (
        {
            "cancellable": True,
            "wanted": {"0": "0-99", "1": ""},
            "newcomers": [7, 8],
            "leaving": 0,
            "shards": 8,
            "total": 10,
            "count_before": 3,
            "memory_before": 100,
            "flash_before": None,
            "widened": True,
            "joined": True,
            "moving_since": NOON_TEXT,
            "left_at_first": 10,
            "keys": 5,
            "eta_seconds": None,
            "rest_until": NOON_TEXT,
            "stalled_since": None,
        },
        ReshardParameters(
            cancellable=True,
            desired={0: "0-99", 1: ""},
            new_shards=(7, 8),
            removed_shards=0,
            shards=8,
            total=10,
            count_before=3,
            memory_before=100,
            widened=True,
            joined=True,
            moving_since=NOON,
            left_at_first=10,
            keys=5,
            pause_until=NOON,
        ),
    ),
    (
        {
            "situation": [[0, 1, 4]],
            "chosen": [{"pair": 0, "lost": 1, "heir": 4, "bytes_behind": None, "method": "FORCE"}],
            "refused": [4],
        },
        FailoverParameters(situation=[[0, 1, 4]], chosen=(Promotion(0, 1, 4, None, "FORCE"),), refused=(4,)),
    ),
    (
        {"shards": [1], "force": False, "took": {"4": 0.5}, "handovers": {"4": {"tries": 1, "again_at": NOON_TEXT}}},
        RequestedFailoverParameters(
            shards=(1,), force=False, took={4: 0.5}, failed_handovers={4: FailedHandover(1, NOON)}
        ),
    ),
    (
        {"shards": [1], "force": True, "chosen": [{"pair": 0, "lost": 1, "heir": 4, "bytes_behind": 3, "method": "x"}]},
        RequestedFailoverParameters(shards=(1,), force=True, chosen=(Promotion(0, 1, 4, 3, "x"),)),
    ),
    ({"shards": [1, 2]}, ShardParameters(shards=(1, 2))),
    (
        {"shards": [1], "discard_data": False, "situation": [1], "begun": {"1": None, "2": 3.5}},
        RestartParameters(shards=(1,), discard_data=False, situation=[1], saved_times={1: None, 2: 3.5}),
    ),
    ({"empty": [1, 2], "is_taken_over": True}, RepairParameters(empty=(1, 2), is_taken_over=True)),
    (
        {"kind": "reboot", "seconds": 5.0, "shard_uid": None},
        DrillParameters(kind="reboot", seconds=5.0, shard_uid=None),
    ),
    ({"full_syncs": [[4, 2, 1]]}, FullSyncParameters(full_syncs=(Transfer(4, 2, 1),))),
    ({"cancellable": True}, Cancellable(cancellable=True)),
    ({"unreachable_since": NOON_TEXT}, Unreachable(unreachable_since=NOON)),
    ({"cancellable": True, "backup_uid": 3}, BackupParameters(cancellable=True, backup_uid=3)),
    ({"cancellable": True, "restore_uid": 4}, RestoreParameters(cancellable=True, restore_uid=4)),
    (
        {"cancellable": True, "bdb_uid": 5, "restore_uid": 4},
        VerificationParameters(cancellable=True, bdb_uid=5, restore_uid=4),
    ),
]


def action(stored: dict[str, Any]) -> Action:
    return Action(uid="a", name="SMRebalance", params=stored)


@pytest.mark.parametrize(("stored", "parsed"), PREVIOUS, ids=lambda value: type(value).__name__)
def test_parameters_of_the_previous_release_are_parsed(stored: dict[str, Any], parsed: Parameters) -> None:
    assert type(parsed).parse(action(stored)) == parsed


@pytest.mark.parametrize("parameters", [each for _, each in PREVIOUS], ids=lambda value: type(value).__name__)
def test_written_parameters_are_parsed(parameters: Parameters) -> None:
    written = action({})
    write(written, parameters)
    assert type(parameters).parse(written) == parameters
    assert type(parameters).parse(action(with_former_keys(written.params))) == parameters


def test_every_kind_is_covered() -> None:
    def kinds(of: type[Parameters]) -> set[type[Parameters]]:
        return {of, *(each for sub in of.__subclasses__() for each in kinds(sub))}

    parts = {"Parameters", "HandoverParameters", Retried.__name__}
    assert {each.__name__ for each in kinds(Parameters)} - parts == {type(each).__name__ for _, each in PREVIOUS}


def test_writing_replaces_former_keys_and_keeps_other_models() -> None:
    moved = action({"at_once": 2, "moves": [FORMER_MOVE], "full_syncs": [[4, 2, 1]], "unreachable_since": NOON_TEXT})
    write(moved, replace(MoveParameters.parse(moved), done=(0,)))
    assert moved.params == {
        "concurrent_databases": 2,
        "moves": [
            {
                "bdb": 1,
                "pair": 0,
                "title": "Move",
                "removed": 1,
                "new_shard": 7,
                "to": 3,
                "promote": 4,
                "promote_new_shard": True,
            }
        ],
        "done": [0],
        "full_syncs": [[4, 2, 1]],
        "unreachable_since": NOON_TEXT,
    }
    write(moved, Unreachable())
    assert "unreachable_since" not in moved.params


def test_new_keys_take_precedence() -> None:
    assert MoveParameters.parse(action({"at_once": 2, "concurrent_databases": 3})).concurrent_databases == 3


def test_parameters_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ShardParameters(shards=(1,)).shards = (2,)  # type: ignore[misc]


def test_missing_parameters_are_an_error() -> None:
    with pytest.raises(ValidationError):
        ShardParameters.parse(action({}))
