"""Tests of the times at which nodes were heard from."""

from types import SimpleNamespace

import pytest

from shardboard.collectors import pulse
from shardboard.collectors.pulse import GAP_SECONDS, Pulses


def test_gaps_between_signs_of_life_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(pulse, "time", SimpleNamespace(monotonic=lambda: clock.now))
    pulses = Pulses(lambda: clock.now)
    assert pulses.seconds_since_gap(1) == float("inf"), "never heard from"

    def wait(seconds: float) -> float:
        clock.now += seconds
        return pulses.seconds_since_gap(1)

    pulses.record_pulse(1)
    assert wait(GAP_SECONDS - 0.1) == float("inf")
    pulses.record_pulse(1)
    assert wait(GAP_SECONDS) == 0, "the gap continues"
    pulses.record_pulse(1)
    assert wait(0.5) == 0.5
    pulses.record_pulse(1)
    assert wait(1.0) == 1.5
    assert pulses.seconds_since_gap(2) == float("inf")
