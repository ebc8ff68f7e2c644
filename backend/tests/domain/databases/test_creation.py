"""Tests of database creation step by step, against simulated shards that progress at random."""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.databases.creation import (
    PROMOTE_AFTER_SECONDS,
    CreationStep,
    DesiredShard,
    ShardCondition,
    next_step,
)


def planned_shards(pairs: int, *, replication: bool) -> list[DesiredShard]:
    primaries = [DesiredShard(pair + 1, pair % 3 + 1, "master", pair) for pair in range(pairs)]
    replicas = [DesiredShard(pairs + pair + 1, (pair + 1) % 3 + 1, "slave", pair) for pair in range(pairs)]
    return primaries + (replicas if replication else [])


@dataclass
class SimulatedShards:
    """Simulated agents and engines. In each poll a shard can advance by one stage, but never goes back."""

    shards: list[DesiredShard]
    random: Random
    start_as_replicas: bool
    stage: dict[int, int] = field(default_factory=dict)
    promoted: set[int] = field(default_factory=set)
    ever_started: set[int] = field(default_factory=set)
    polls: dict[int, int] = field(default_factory=dict)

    def start(self, step: CreationStep) -> None:
        by_uid = {shard.uid: shard for shard in self.shards}
        primaries = {shard.pair: shard.uid for shard in self.shards if shard.role == "master"}
        for node_uid, uids in step.start.items():
            for uid in uids:
                assert uid not in self.ever_started, "a shard is started only once"
                assert by_uid[uid].node_uid == node_uid
                if by_uid[uid].role == "slave":
                    assert self.conditions()[primaries[by_uid[uid].pair]].promoted, (
                        "a replica needs a primary to follow"
                    )
                self.ever_started.add(uid)
                self.stage[uid] = 0
                self.polls[uid] = 0

    def promote(self, step: CreationStep) -> None:
        for uid in step.promote:
            condition = self.conditions()[uid]
            assert condition.serves or condition.age > PROMOTE_AFTER_SECONDS, (
                "a shard that does not serve its slots must not be promoted"
            )
            assert next(shard for shard in self.shards if shard.uid == uid).role == "master"
            if self.random.random() < 0.7:  # the promotion can fail
                self.promoted.add(uid)

    def progress_randomly(self) -> None:
        for uid, stage in self.stage.items():
            self.polls[uid] += 1
            if self.random.random() < 0.5:
                self.stage[uid] = min(stage + 1, 3)

    def conditions(self) -> dict[int, ShardCondition]:
        """Return the condition of each shard. Stages: known to the agent, running, serving, in sync."""
        roles = {shard.uid: shard.role for shard in self.shards}
        return {
            uid: ShardCondition(
                running=stage >= 1,
                serves=stage >= 2,
                promoted=roles[uid] == "slave" or not self.start_as_replicas or uid in self.promoted,
                age=self.polls.get(uid, 0) / 10,
                in_sync=roles[uid] == "master" or stage >= 3,
            )
            for uid, stage in self.stage.items()
        }


@given(st.integers(1, 12), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_creation_completes_at_any_pace_and_after_any_interruption(
    pairs: int, replication: bool, start_as_replicas: bool, seed: int
) -> None:
    random = Random(seed)
    shards = planned_shards(pairs, replication=replication)
    simulation = SimulatedShards(shards, random, start_as_replicas)
    progress = 0.0
    for _ in range(2000):
        step = next_step(shards, simulation.conditions())
        assert not step.failed
        assert 0 <= progress <= step.progress <= 100
        progress = step.progress
        if step.done:
            break
        assert step.waiting_for
        # A console that is killed between two calls has completed part of the step. The next one continues from there.
        if random.random() < 0.8:
            simulation.start(step)
        if random.random() < 0.8:
            simulation.promote(step)
        simulation.progress_randomly()
    assert step.done
    assert progress == 100
    assert simulation.ever_started == {shard.uid for shard in shards}
    assert not start_as_replicas or simulation.promoted == {shard.uid for shard in shards if shard.role == "master"}


@given(st.integers(1, 6), st.booleans(), st.integers(0, 2**32))
def test_shard_that_died_fails_the_creation(pairs: int, replication: bool, seed: int) -> None:
    random = Random(seed)
    shards = planned_shards(pairs, replication=replication)
    simulation = SimulatedShards(shards, random, start_as_replicas=True)
    simulation.stage = {shard.uid: random.randint(0, 3) for shard in shards}
    victim = random.choice(shards)
    conditions = simulation.conditions() | {victim.uid: ShardCondition(running=False, died="out of memory")}
    step = next_step(shards, conditions)
    assert step.failed == f"Shard redis:{victim.uid} on node {victim.node_uid} ended: out of memory."
    assert not step.start
    assert not step.promote
    assert not step.done


def test_first_step_starts_all_primaries_by_node() -> None:
    step = next_step(planned_shards(4, replication=True), {})
    assert step.start == {1: [1, 4], 2: [2], 3: [3]}
    assert step.progress == 0
    assert step.waiting_for == "8 of 8 shards to start"


READY, UNPROMOTED = (
    ShardCondition(running=True, serves=True, in_sync=True),
    ShardCondition(running=True, serves=True, promoted=False),
)


@pytest.mark.parametrize(
    ("shard_condition", "promote"),
    [
        (ShardCondition(running=True, promoted=False), []),
        (ShardCondition(running=True, promoted=False, serves=True), [1]),
        # All shards started as replicas and wait for each other, because the console was unavailable.
        (ShardCondition(running=True, promoted=False, age=PROMOTE_AFTER_SECONDS + 1), [1]),
        (ShardCondition(running=False, promoted=False, age=PROMOTE_AFTER_SECONDS + 1), []),
        (ShardCondition(running=True, promoted=True, serves=True), []),
    ],
)
def test_primaries_are_promoted_when_they_serve_their_slots(
    shard_condition: ShardCondition, promote: list[int]
) -> None:
    assert next_step(planned_shards(1, replication=True), {1: shard_condition}).promote == promote


@pytest.mark.parametrize(
    ("conditions", "waiting_for"),
    [
        ({1: READY}, "1 of 2 shards to start"),
        ({1: READY, 2: ShardCondition(running=False)}, "1 of 2 shards to start"),
        ({1: UNPROMOTED, 2: READY}, "1 of 2 shards to serve their slots"),
        ({1: READY, 2: ShardCondition(running=True)}, "1 of 2 shards to serve their slots"),
        ({1: READY, 2: ShardCondition(running=True, serves=True)}, "1 of 1 replicas to be in sync"),
        ({1: READY, 2: READY}, ""),
    ],
)
def test_step_describes_what_it_waits_for(conditions: dict[int, ShardCondition], waiting_for: str) -> None:
    step = next_step(planned_shards(1, replication=True), conditions)
    assert step.waiting_for == waiting_for
    assert step.done == (not waiting_for)
