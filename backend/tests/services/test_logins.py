"""Failed logins of names that no user has."""

from datetime import timedelta

from shardboard.domain.policy import Policy
from shardboard.services.logins import Strangers


def test_strangers_do_not_wait_for_ever() -> None:
    """Nobody could unlock them."""
    strangers, rules = Strangers(), Policy(login_lockout_duration=0)
    for _ in range(rules.login_lockout_threshold):
        assert not strangers.waits("ann", "192.0.2.1")
        strangers.failed("ann", "192.0.2.1", rules)
    assert strangers.waits("ANN", "192.0.2.1")
    assert not strangers.waits("ann", "192.0.2.2")
    [tried] = strangers._kept.values()
    assert tried.until == tried.at + timedelta(seconds=rules.login_lockout_counter_reset_after)
