"""Tests of failed logins with unknown usernames."""

from datetime import timedelta

from shardboard.domain.cluster.policy import Policy
from shardboard.services.access.logins import UnknownUserThrottle


def test_lockout_of_unknown_names_is_temporary() -> None:
    """Administrators cannot unlock unknown usernames."""
    throttle, rules = UnknownUserThrottle(), Policy(login_lockout_duration=0)
    for _ in range(rules.login_lockout_threshold):
        assert not throttle.is_throttled("ann", "192.0.2.1")
        throttle.record_failure("ann", "192.0.2.1", rules)
    assert throttle.is_throttled("ANN", "192.0.2.1")
    assert not throttle.is_throttled("ann", "192.0.2.2")
    [entry] = throttle._kept.values()
    assert entry.until == entry.at + timedelta(seconds=rules.login_lockout_counter_reset_after)
