"""Choice of the copies from which a lost store is rebuilt: the newest one of each object, of all agents that respond."""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class Version(NamedTuple):
    """Term of leadership, and number of the copy in that term."""

    term: int
    counter: int


class Candidate(NamedTuple):
    """A copy that the agent of a node has."""

    version: Version
    node_uid: int


def candidates(held: Mapping[int, Mapping[str, Version]]) -> dict[str, list[Candidate]]:
    """Return the copies by name, newest first, from the copies that each node has. Copies of one version are in the order of the
    nodes.
    """
    found: dict[str, list[Candidate]] = {}
    for node_uid, versions in sorted(held.items()):
        for name, version in versions.items():
            found.setdefault(name, []).append(Candidate(version, node_uid))
    return {name: sorted(each, key=lambda candidate: candidate.version, reverse=True) for name, each in found.items()}


def is_deleted(version: Version, cluster: Version, uid: int, databases: Collection[int]) -> bool:
    """Return whether a database with this copy was deleted: a copy of the cluster that is not older does not mention it. The copy
    remained on a node whose agent did not respond at that time.
    """
    return uid not in databases and version <= cluster
