"""Tests of the limit on concurrent full syncs per node."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.placement.full_sync_limit import USE_CLUSTER_POLICY, Transfer, admit, limit

transfers = st.lists(
    st.builds(Transfer, uid=st.integers(1, 30), to_node=st.integers(1, 4), from_node=st.integers(1, 4)),
    max_size=12,
    unique_by=lambda transfer: transfer.uid,
)
limits = st.dictionaries(st.integers(1, 4), st.integers(0, 3))


@given(transfers, transfers, limits)
def test_no_node_exceeds_its_limit(
    requested: list[Transfer], running: list[Transfer], limit_by_node: dict[int, int]
) -> None:
    admitted = admit(requested, running, limit_by_node)
    uids = {transfer.uid for transfer in running}
    new_syncs = [transfer for transfer in admitted if transfer.uid not in uids]
    busy = Counter(node for transfer in [*running, *new_syncs] for node in transfer.nodes)
    for transfer in new_syncs:
        assert all(busy[node] <= limit_by_node[node] for node in transfer.nodes if limit_by_node.get(node))
    assert all(transfer in admitted for transfer in requested if transfer.uid in uids), "running syncs continue"
    for refused in [transfer for transfer in requested if transfer not in admitted]:
        assert any(limit_by_node.get(node) and busy[node] >= limit_by_node[node] for node in refused.nodes), (
            "the limit permits this sync"
        )


def test_source_and_target_node_are_limited() -> None:
    pending = [Transfer(4, 2, 1), Transfer(5, 3, 2), Transfer(6, 1, 3)]
    assert [each.uid for each in admit(pending, [], {1: 1, 2: 1, 3: 1})] == [4]
    assert [each.uid for each in admit(pending, [], {2: 1})] == [4, 6]
    assert [each.uid for each in admit(pending, [], {})] == [4, 5, 6]


def test_node_without_limit_uses_the_cluster_limit() -> None:
    assert [limit(USE_CLUSTER_POLICY, 2), limit(0, 2), limit(5, 2)] == [2, 0, 5]
