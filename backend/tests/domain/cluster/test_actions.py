"""Tests of the names of actions."""

import json

import pytest

from shardboard.domain.cluster.actions import ActionName, StepStatus, current_name, step_status


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("SMReturnPrimaries", "SMSwitchBack"),
        ("SMReviveReplicas", "SMRecoverReplicas"),
        ("SMDemoteRivals", "SMDemoteStalePrimaries"),
    ],
)
def test_former_names_are_understood(former: str, name: str) -> None:
    assert current_name(former) == name
    assert ActionName(name).stored_names == {former, name}


def test_names_without_a_former_name_are_kept() -> None:
    assert current_name("SMFailover") == "SMFailover"
    assert current_name("SMOfAnotherRelease") == "SMOfAnotherRelease"
    assert ActionName.FAILOVER.stored_names == {"SMFailover"}


def test_members_are_texts_in_json_and_messages() -> None:
    assert json.dumps({ActionName.FAILOVER: ActionName.REBALANCE}) == '{"SMFailover": "SMRebalance"}'
    assert f"{ActionName.FAILOVER}" == str(ActionName.FAILOVER) == "SMFailover"


def test_steps_before_the_current_one_are_completed() -> None:
    assert [step_status(position, 1) for position in range(3)] == [
        StepStatus.COMPLETED,
        StepStatus.RUNNING,
        StepStatus.PENDING,
    ]
