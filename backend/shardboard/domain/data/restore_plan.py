"""The next transfers of a restore, and the comparison of its result with the manifest."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from shardboard.domain.data.backup_plan import MAX_ATTEMPTS, Limits
from shardboard.domain.data.statuses import TransferStatus
from shardboard.domain.placement.slots import Ranges

RETRY_SECONDS = 5.0
"""Pause before keys are written to a primary again after a failure: a failover may be in progress."""
MAX_UNAVAILABLE = 60
"""Attempts for each primary that failed only because it was unavailable: it may be restarting, which takes minutes if it loads its
keys from disk."""


@dataclass(frozen=True)
class Primary:
    """A primary that receives keys."""

    shard_uid: int
    pair: int
    node_uid: int


@dataclass(frozen=True)
class NodeTransfer:
    """Primaries of one node that read a source together."""

    node_uid: int
    shard_uids: tuple[int, ...]


@dataclass(frozen=True)
class RestoreAttempt:
    """A transfer that was requested, in the order of the requests."""

    source: int
    node_uid: int
    shard_uids: Collection[int]
    status: str
    error: str = ""
    ended_ago: float = 0.0
    """Seconds since its end."""
    was_unavailable: bool = False
    """Whether it failed because a primary was unavailable."""


@dataclass(frozen=True)
class RestorePlan:
    """Result of `next_restores`."""

    source: int = 0
    start: Sequence[NodeTransfer] = ()
    failed: str = ""
    done: bool = False


def next_restores(
    sources: int, primaries: Sequence[Primary], attempts: Sequence[RestoreAttempt], limits: Limits
) -> RestorePlan:
    """Return the transfers to start now. Sources are read one after the other, so that later ones replace the keys of earlier ones.

    A shard that has become primary since then gets all keys again: it may lack writes that were not replicated.
    """
    for source in range(sources):
        of_source = [each for each in attempts if each.source == source]
        done = {uid for each in of_source if each.status == TransferStatus.SUCCEEDED for uid in each.shard_uids}
        running = {uid for each in of_source if each.status == TransferStatus.RUNNING for uid in each.shard_uids}
        missing = [each for each in primaries if each.shard_uid not in done]
        if not missing:
            continue
        if failed := next(filter(None, (_failure(each.shard_uid, of_source) for each in missing)), ""):
            return RestorePlan(failed=failed)
        pausing = {
            uid
            for each in of_source
            if each.status == TransferStatus.FAILED and each.ended_ago < RETRY_SECONDS
            for uid in each.shard_uids
        }
        # Separately, so that a primary that stays unavailable does not delay others on its node.
        separate = {uid for each in of_source if each.was_unavailable for uid in each.shard_uids}
        waiting = sorted(
            (each.node_uid, each.shard_uid if each.shard_uid in separate else 0, each.shard_uid)
            for each in missing
            if each.shard_uid not in running | pausing
        )
        started: Counter[int] = Counter()
        chosen = []
        for (node_uid, _), group in groupby(waiting, key=lambda each: each[:2]):
            if limits.free(node_uid, started):
                started[node_uid] += 1
                chosen.append(NodeTransfer(node_uid, tuple(shard_uid for *_, shard_uid in group)))
        return RestorePlan(source=source, start=chosen)
    return RestorePlan(done=True)


def _failure(shard_uid: int, attempts: Sequence[RestoreAttempt]) -> str:
    """Return why no other attempt to write to a primary is made; empty if one is made."""
    ended = (TransferStatus.FAILED, TransferStatus.ABANDONED)
    failed = [each for each in attempts if shard_uid in each.shard_uids and each.status in ended]
    unavailable = sum(each.was_unavailable for each in failed)
    if unavailable < MAX_UNAVAILABLE and len(failed) - unavailable < MAX_ATTEMPTS:
        return ""
    return f"Writing to redis:{shard_uid} failed {len(failed)} times. {failed[-1].error}"


def overlaps(some: Ranges, others: Ranges) -> bool:
    """Return whether two sets of slots have a slot in common."""
    return any(
        first <= other_last and other_first <= last for first, last in some for other_first, other_last in others
    )


def mismatched_slots(
    expected: Mapping[int, tuple[int, str]], restored: Mapping[int, tuple[int, str]], expired: int
) -> int:
    """Return the number of slots whose contents differ: `{slot: (keys, digest)}` of the manifest and of the restored keys.

    Slots with missing keys are correct if as many keys had expired.
    """
    short = [slot for slot, (keys, _) in expected.items() if keys > restored.get(slot, (0, ""))[0]]
    missing = sum(expected[slot][0] - restored.get(slot, (0, ""))[0] for slot in short)
    different = {
        slot
        for slot in expected.keys() | restored.keys()
        if slot not in short
        and expected.get(slot, (0, "")) != restored.get(slot, (0, ""))
        and not (expected.get(slot, (0, ""))[0] == 0 and restored.get(slot, (0, ""))[0] == 0)
    }
    return len(different) + (0 if missing == expired else len(short))
