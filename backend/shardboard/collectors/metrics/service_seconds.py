"""Service of each database in each of the last seconds, derived from samples."""

from collections.abc import Collection, Mapping

from shardboard.collectors.metrics.reporters import Reporters
from shardboard.collectors.metrics.sample_seconds import PackedSample, Second
from shardboard.domain.failures.availability_history import FINAL_SECONDS, ServiceSecond, ServiceState

RETENTION = 2 * FINAL_SECONDS


class ServiceSeconds:
    """States by second. A second that is computed again after a late sample replaces the earlier result."""

    def __init__(self) -> None:
        self.seconds: dict[int, ServiceSecond] = {}

    def settle(self, t: int, second: Second, reporters: Reporters, without_endpoint: Collection[int]) -> None:
        """Compute the states of one second. `without_endpoint` are databases with an endpoint that did not report."""
        states = {
            bdb_uid: state
            for bdb_uid, uids in reporters.of_bdb.items()
            if bdb_uid not in without_endpoint
            and reporters.endpoints.get(bdb_uid)
            and (state := _state(bdb_uid, uids, second, reporters)) is not None
        }
        endpoints = frozenset(second.endpoints)
        if (previous := self.seconds.get(t - 1)) is not None and previous.endpoints == endpoints:
            endpoints = previous.endpoints  # the same set for all seconds saves memory
        self.seconds[t] = ServiceSecond(states, dict(second.proxies), endpoints)
        if len(self.seconds) > RETENTION:
            del self.seconds[min(self.seconds)]


def _state(bdb_uid: int, uids: Collection[int], second: Second, reporters: Reporters) -> ServiceState | None:
    """Return None if a shard did not report."""
    if any(reporters.lacks_shard(uid, second) for uid in uids):
        return None
    endpoints = [
        second.endpoints[bdb_uid, node_uid]
        for node_uid in reporters.endpoints[bdb_uid]
        if (bdb_uid, node_uid) in second.endpoints
    ]
    # During resharding, pairs without slots start or end.
    serving_by_pair: dict[int, list[bool]] = {
        place.pair: [] for uid in uids if (place := reporters.members[uid]).has_slots
    }
    for uid in uids:
        serving = serving_by_pair.get(reporters.members[uid].pair)
        if serving is not None and (raw := second.shards.get(uid)) is not None:
            serving.append(_serves(PackedSample(raw)))
    if not endpoints or not all(serving_by_pair.values()):
        return ServiceState.DOWN
    if not all(any(serving) for serving in serving_by_pair.values()):
        return ServiceState.UNCLEAR
    is_used = any((values["responses"] or 0) > 0 for values in endpoints)
    return ServiceState.USED if is_used else ServiceState.IDLE


def _serves(raw: Mapping[str, float | None]) -> bool:
    return raw["is_primary"] == 1 and not raw["loading"] and not raw["cluster_down"]
