"""Fake agents for callers that know the addresses of the nodes, but not their uids."""

from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef

NODES = [NodeRef(uid, f"10.0.0.{uid}", 9700) for uid in (1, 2, 3)]
"""The nodes of the fixture `nodes`."""


class AgentsByAddress(FakeAgents):
    """Agents at `NODES`."""

    async def list_copies(self, node: NodeRef) -> list[CopyVersion]:
        return await super().list_copies(_known(node))

    async def read_copy(self, node: NodeRef, name: str) -> RecoveryCopy | None:
        return await super().read_copy(_known(node), name)


def _known(node: NodeRef) -> NodeRef:
    return next(each for each in NODES if each.addr == node.addr)
