"""Elections under faults, in virtual time: never two consoles act, and never with an outdated term."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.consoles.leadership_simulation import Simulation

from shardboard.domain.cluster import leadership as rule

SEEDS = range(200)
FAULTS = 12
RECOVERY_SECONDS = 8.0


def inject_fault(simulation: Simulation) -> None:
    """Disturb one console or the server for a random time."""
    world = simulation.world
    rng = world.random
    name = rng.choice(sorted(simulation.consoles))
    console = simulation.consoles[name]
    duration = rng.choice((0.2, 1.0, 1.3, 1.6, 4.0))

    def cut() -> None:
        console.is_cut = True
        simulation.at(world.now + duration, lambda: setattr(console, "is_cut", False))

    def restart_server() -> None:
        world.is_up = False
        simulation.at(world.now + duration, lambda: setattr(world, "is_up", True))

    faults: list[Callable[[], object]] = [
        lambda: setattr(console, "paused_until", world.now + duration),
        cut,
        lambda: simulation.restart(name),
        restart_server,
    ]
    rng.choice(faults)()


def check_safety(simulation: Simulation, *, terms_are_unique: bool) -> None:
    world = simulation.world
    for (_, earlier), (at, later) in pairwise(world.acts):
        if terms_are_unique:
            assert later.number >= earlier.number, f"term {later} acted after {earlier} at {at}"
            assert later.number > earlier.number or later == earlier, f"{later} and {earlier} acted in one term"
    for earlier, later in pairwise(world.written if terms_are_unique else []):
        assert later.number >= earlier.number, f"the store committed {later} after {earlier}"
    for earlier, later in pairwise(world.accepted):
        assert later.number > earlier.number or later == earlier, f"the agent executed {later} after {earlier}"


def run_with_faults(seed: int, *, promotions: bool = False) -> None:
    """Run consoles with random faults. Raises AssertionError if two of them act, or none after the faults."""
    simulation = Simulation(seed)
    world = simulation.world
    try:
        for _ in range(FAULTS):
            simulation.run(world.random.random() * 3)
            if promotions and world.random.random() < 0.4:
                world.promote_standby(world.random.choice((0.0, 0.1, 1.0, 5.0)))
            else:
                inject_fault(simulation)
        simulation.run(RECOVERY_SECONDS)
        check_safety(simulation, terms_are_unique=not promotions)
        acts, orders = len(world.acts), len(world.accepted)
        simulation.run(RECOVERY_SECONDS)
        leaders = {term.console_id for _, term in world.acts[acts:]}
        assert len(leaders) == 1, f"seed {seed}: {leaders} lead after the faults"
        assert len(world.accepted) > orders, f"seed {seed}: the agent refuses the leader"
    finally:
        simulation.close()


def test_faults_never_make_two_consoles_act(sampling: Sampling) -> None:
    for seed in sampling.choose(SEEDS, 10):
        run_with_faults(seed)


def test_agents_obey_one_console_after_the_store_lost_transactions(sampling: Sampling) -> None:
    for seed in sampling.choose(SEEDS, 10):
        run_with_faults(seed, promotions=True)


def test_simulation_detects_a_lease_that_is_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "LEASE_SECONDS", 0.5)
    with pytest.raises(AssertionError, match="acted after"):
        any(map(run_with_faults, SEEDS))
