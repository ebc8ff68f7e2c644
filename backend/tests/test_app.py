"""How the console's parts are put together."""

from typing import cast

from shardboard.app import _steppers
from shardboard.console import Console
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.state import actions


def test_what_hands_leads_over_is_something_that_is_carried_out(console: Console) -> None:
    known = _steppers(console, cast(Endpoints, None))
    assert known.keys() >= {*actions.HAND_OVER, actions.FAILOVER}
