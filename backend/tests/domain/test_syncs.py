"""How many full syncs may run at once, for whatever mix of nodes and limits."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.syncs import CLUSTERS, Transfer, admit, limit

transfers = st.lists(
    st.builds(Transfer, uid=st.integers(1, 30), to_node=st.integers(1, 4), from_node=st.integers(1, 4)),
    max_size=12,
    unique_by=lambda transfer: transfer.uid,
)
limits = st.dictionaries(st.integers(1, 4), st.integers(0, 3))


@given(transfers, transfers, limits)
def test_no_node_gets_more_than_its_limit(
    wanted: list[Transfer], running: list[Transfer], most: dict[int, int]
) -> None:
    admitted = admit(wanted, running, most)
    uids = {transfer.uid for transfer in running}
    fresh = [transfer for transfer in admitted if transfer.uid not in uids]
    busy = Counter(node for transfer in [*running, *fresh] for node in transfer.nodes)
    for transfer in fresh:
        assert all(busy[node] <= most[node] for node in transfer.nodes if most.get(node))
    assert all(transfer in admitted for transfer in wanted if transfer.uid in uids), "what runs goes on"
    for refused in [transfer for transfer in wanted if transfer not in admitted]:
        assert any(most.get(node) and busy[node] >= most[node] for node in refused.nodes), "there was room for it"


def test_both_ends_count() -> None:
    back = [Transfer(4, 2, 1), Transfer(5, 3, 2), Transfer(6, 1, 3)]
    assert [each.uid for each in admit(back, [], {1: 1, 2: 1, 3: 1})] == [4]
    assert [each.uid for each in admit(back, [], {2: 1})] == [4, 6]
    assert [each.uid for each in admit(back, [], {})] == [4, 5, 6]


def test_a_node_without_a_setting_of_its_own_has_the_clusters() -> None:
    assert [limit(CLUSTERS, 2), limit(0, 2), limit(5, 2)] == [2, 0, 5]
