"""Tests of how the console assembles its parts."""

from typing import cast

from shardboard.app import _steppers
from shardboard.console import Console
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.state.cluster import actions


def test_actions_that_move_primary_roles_have_a_stepper(console: Console) -> None:
    steppers = _steppers(console, cast(Endpoints, None))
    assert steppers.keys() >= {*actions.SWITCHOVER_ACTIONS, actions.FAILOVER}
