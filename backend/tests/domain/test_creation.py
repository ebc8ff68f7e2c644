"""Creating a database, step by step, in a world that goes on as it likes between the steps."""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.creation import PATIENCE, ShardCondition, Step, Wanted, next_step


def wanted(pairs: int, *, replication: bool) -> list[Wanted]:
    primaries = [Wanted(pair + 1, pair % 3 + 1, "master", pair) for pair in range(pairs)]
    replicas = [Wanted(pairs + pair + 1, (pair + 1) % 3 + 1, "slave", pair) for pair in range(pairs)]
    return primaries + (replicas if replication else [])


@dataclass
class World:
    """Agents and engines: every look they may have come one stage further, never back."""

    shards: list[Wanted]
    random: Random
    born_as_replicas: bool
    stage: dict[int, int] = field(default_factory=dict)
    promoted: set[int] = field(default_factory=set)
    ever_started: set[int] = field(default_factory=set)
    looks: dict[int, int] = field(default_factory=dict)

    def start(self, step: Step) -> None:
        by_uid = {shard.uid: shard for shard in self.shards}
        primaries = {shard.pair: shard.uid for shard in self.shards if shard.role == "master"}
        for node_uid, uids in step.start.items():
            for uid in uids:
                assert uid not in self.ever_started, "a shard is started once"
                assert by_uid[uid].node_uid == node_uid
                if by_uid[uid].role == "slave":
                    assert self.seen()[primaries[by_uid[uid].pair]].promoted, "a replica needs a primary to follow"
                self.ever_started.add(uid)
                self.stage[uid] = 0
                self.looks[uid] = 0

    def promote(self, step: Step) -> None:
        for uid in step.promote:
            seen = self.seen()[uid]
            assert seen.serves or seen.age > PATIENCE, "a shard that does not know its slots must not take over"
            assert next(shard for shard in self.shards if shard.uid == uid).role == "master"
            if self.random.random() < 0.7:  # it may refuse
                self.promoted.add(uid)

    def go_on(self) -> None:
        for uid, stage in self.stage.items():
            self.looks[uid] += 1
            if self.random.random() < 0.5:
                self.stage[uid] = min(stage + 1, 3)

    def seen(self) -> dict[int, ShardCondition]:
        """Stages: known to the agent, running, serving, in sync."""
        roles = {shard.uid: shard.role for shard in self.shards}
        return {
            uid: ShardCondition(
                running=stage >= 1,
                serves=stage >= 2,
                promoted=roles[uid] == "slave" or not self.born_as_replicas or uid in self.promoted,
                age=self.looks.get(uid, 0) / 10,
                in_sync=roles[uid] == "master" or stage >= 3,
            )
            for uid, stage in self.stage.items()
        }


@given(st.integers(1, 12), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_creation_ends_whatever_the_pace_and_however_often_it_is_killed(
    pairs: int, replication: bool, born_as_replicas: bool, seed: int
) -> None:
    random = Random(seed)
    shards = wanted(pairs, replication=replication)
    world = World(shards, random, born_as_replicas)
    progress = 0.0
    for _ in range(2000):
        step = next_step(shards, world.seen())
        assert not step.failed
        assert 0 <= progress <= step.progress <= 100
        progress = step.progress
        if step.done:
            break
        assert step.waiting_for
        # A console that is killed between two calls has done a part of the step; the next one sees what there is.
        if random.random() < 0.8:
            world.start(step)
        if random.random() < 0.8:
            world.promote(step)
        world.go_on()
    assert step.done
    assert progress == 100
    assert world.ever_started == {shard.uid for shard in shards}
    assert not born_as_replicas or world.promoted == {shard.uid for shard in shards if shard.role == "master"}


@given(st.integers(1, 6), st.booleans(), st.integers(0, 2**32))
def test_a_shard_that_ended_fails_the_creation_whatever_else_there_is(pairs: int, replication: bool, seed: int) -> None:
    random = Random(seed)
    shards = wanted(pairs, replication=replication)
    world = World(shards, random, born_as_replicas=True)
    world.stage = {shard.uid: random.randint(0, 3) for shard in shards}
    victim = random.choice(shards)
    seen = world.seen() | {victim.uid: ShardCondition(running=False, died="out of memory")}
    step = next_step(shards, seen)
    assert step.failed == f"Shard redis:{victim.uid} on node {victim.node_uid} ended: out of memory."
    assert not step.start
    assert not step.promote
    assert not step.done


def test_the_first_step_starts_all_primaries_by_node() -> None:
    step = next_step(wanted(4, replication=True), {})
    assert step.start == {1: [1, 4], 2: [2], 3: [3]}
    assert step.progress == 0
    assert step.waiting_for == "8 of 8 shards to start"


READY, BORN = (
    ShardCondition(running=True, serves=True, in_sync=True),
    ShardCondition(running=True, serves=True, promoted=False),
)


@pytest.mark.parametrize(
    ("born", "promote"),
    [
        (ShardCondition(running=True, promoted=False), []),
        (ShardCondition(running=True, promoted=False, serves=True), [1]),
        # The console was away, and all shards born as replicas wait for one another.
        (ShardCondition(running=True, promoted=False, age=PATIENCE + 1), [1]),
        (ShardCondition(running=False, promoted=False, age=PATIENCE + 1), []),
        (ShardCondition(running=True, promoted=True, serves=True), []),
    ],
)
def test_who_is_promoted(born: ShardCondition, promote: list[int]) -> None:
    assert next_step(wanted(1, replication=True), {1: born}).promote == promote


@pytest.mark.parametrize(
    ("seen", "waiting_for"),
    [
        ({1: READY}, "1 of 2 shards to start"),
        ({1: READY, 2: ShardCondition(running=False)}, "1 of 2 shards to start"),
        ({1: BORN, 2: READY}, "1 of 2 shards to serve their slots"),
        ({1: READY, 2: ShardCondition(running=True)}, "1 of 2 shards to serve their slots"),
        ({1: READY, 2: ShardCondition(running=True, serves=True)}, "1 of 1 replicas to be in sync"),
        ({1: READY, 2: READY}, ""),
    ],
)
def test_what_is_waited_for(seen: dict[int, ShardCondition], waiting_for: str) -> None:
    step = next_step(wanted(1, replication=True), seen)
    assert step.waiting_for == waiting_for
    assert step.done == (not waiting_for)
