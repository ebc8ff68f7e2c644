"""Tuning the proxies of nodes. The rows are the request; the endpoint loop carries it out."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import NotAcceptable
from shardboard.schemas.databases import proxies as schema
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting.events import record
from shardboard.state.cluster.nodes import Node


async def change_threads(
    session: AsyncSession, machines: Sequence[Node], change: schema.ProxyFields, principal: Principal
) -> None:
    """Change the number of threads of these nodes' proxies at run time. Raises NotAcceptable for fields that cannot be changed."""
    unsupported = sorted(
        name
        for name, value in (change.model_extra or {}).items()
        if name not in schema.READ_ONLY
        and (name not in schema.CONSTANT_FIELDS or schema.CONSTANT_FIELDS[name] != value)
    )
    if unsupported:
        raise NotAcceptable(
            "not_supported",
            f"{unsupported[0]} cannot be changed; only threads and max_threads can.",
            field=unsupported[0],
        )
    for node in machines:
        limit = change.max_threads or node.proxy_max_threads
        if change.threads is not None and change.threads > limit:
            message = f"threads must not exceed max_threads, which is {limit} on node {node.uid}."
            raise NotAcceptable("invalid_input", message, field="threads")
        previous = node.proxy_threads
        changed = {"proxy_max_threads": limit} | ({"proxy_threads": change.threads} if change.threads else {})
        node.config = {**node.config, **changed}
        if (now := node.proxy_threads) != previous:
            message = f"The threads of the proxy of node {node.uid} were changed from {previous} to {now}."
            record(session, "proxy_updated", message, source="node", originator=principal.username, node_uid=node.uid)
