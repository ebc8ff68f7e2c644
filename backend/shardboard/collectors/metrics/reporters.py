"""Shards and proxies that have to report before the sums of a second are complete.

One rule for both: a shard or an endpoint that is known not to serve adds nothing to a sum. One that merely has not reported makes
the sum unknown, because a partial sum would be misleading.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from shardboard.collectors.metrics.sample_seconds import Second, ShardPlace


class Reporters:
    """Places of shards and endpoints, and the nodes that cannot report."""

    def __init__(self) -> None:
        self.members: Mapping[int, ShardPlace] = {}
        self.of_bdb: Mapping[int, list[int]] = {}
        self.of_node: Mapping[int, list[int]] = {}
        self.endpoints: Mapping[int, Collection[int]] = {}
        """Nodes whose proxies serve a database, by its uid."""
        self.down: frozenset[int] = frozenset()
        """Nodes that are down by agreement of witnesses."""
        self.lost: set[int] = set()
        """Nodes whose agents are disconnected."""

    def set_members(self, members: Mapping[int, ShardPlace]) -> None:
        of_bdb: dict[int, list[int]] = defaultdict(list)
        of_node: dict[int, list[int]] = defaultdict(list)
        for shard_uid, member in members.items():
            of_bdb[member.bdb_uid].append(shard_uid)
            of_node[member.node_uid].append(shard_uid)
        self.members, self.of_bdb, self.of_node = members, of_bdb, of_node

    def lacks_shard(self, uid: int, second: Second) -> bool:
        """Return whether a shard may be running and has no values. It is known not to run if it died, if its node is down, or if
        its agent's sample does not contain it."""
        node_uid = self.members[uid].node_uid
        if uid in second.shards or uid in second.died or node_uid in self.down:
            return False
        return node_uid not in second.nodes or uid in second.missing

    def databases_without_endpoint(self, second: Second) -> frozenset[int]:
        """Return the databases of which an endpoint may be serving and has no values."""
        silent = {
            node_uid
            for node_uid in {node_uid for node_uids in self.endpoints.values() for node_uid in node_uids}
            if not self._is_proxy_known(node_uid, second)
        }
        if not silent:
            return frozenset()
        return frozenset(uid for uid, node_uids in self.endpoints.items() if not silent.isdisjoint(node_uids))

    def _is_proxy_known(self, node_uid: int, second: Second) -> bool:
        """Return whether it is known what a proxy served: it reported, its agent reported that none runs, or its node is down.

        Witnesses judge a node by its shards. Without shards, its agent's connection decides.
        """
        if node_uid in second.nodes:
            return node_uid not in second.silent_proxies
        return node_uid in self.down or (node_uid in self.lost and not self.of_node.get(node_uid))
