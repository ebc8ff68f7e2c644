"""Tuning the proxies of nodes. The rows are the order; the endpoint loop carries it out."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import NotAcceptable
from shardboard.schemas import proxies as schema
from shardboard.services.users import Principal
from shardboard.state.events import record
from shardboard.state.nodes import Node


async def tune(
    session: AsyncSession, machines: Sequence[Node], change: schema.ProxyFields, principal: Principal
) -> None:
    """Change the number of threads of these nodes' proxies, while they run. Raises NotAcceptable for what cannot be changed."""
    strange = sorted(
        name
        for name, value in (change.model_extra or {}).items()
        if name not in schema.READ_ONLY and (name not in schema.STATIC or schema.STATIC[name] != value)
    )
    if strange:
        raise NotAcceptable(
            "not_supported", f"{strange[0]} cannot be changed; threads and max_threads can.", field=strange[0]
        )
    for node in machines:
        limit = change.max_threads or node.proxy_max_threads
        if change.threads is not None and change.threads > limit:
            sentence = f"threads may be at most max_threads, which is {limit} on node {node.uid}."
            raise NotAcceptable("invalid_input", sentence, field="threads")
        before = node.proxy_threads
        changed = {"proxy_max_threads": limit} | ({"proxy_threads": change.threads} if change.threads else {})
        node.config = {**node.config, **changed}
        if (now := node.proxy_threads) != before:
            told = f"The proxy of node {node.uid} was given {now} threads instead of {before}."
            record(session, "proxy_updated", told, source="node", originator=principal.username, node_uid=node.uid)
