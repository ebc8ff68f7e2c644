"""Lookups of the object in the path. They raise NotFound."""

from shardboard.api.http.dependencies import ReadSession
from shardboard.errors import NotFound
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb


async def get_bdb_or_404(session: ReadSession, uid: int) -> Bdb:
    bdb = await bdbs.by_uid(session, uid)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return bdb


async def get_node_or_404(session: ReadSession, uid: int) -> Node:
    node = await nodes.by_uid(session, uid)
    if node is None:
        raise NotFound("node_not_found", f"Node {uid} does not exist.")
    return node
