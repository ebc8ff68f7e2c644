"""What of the store goes into a support bundle, and what must not."""

import asyncio

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import endpoints, scrubbing, support_bundle
from shardboard.queries import metrics as history
from shardboard.services.users import Principal
from shardboard.state import bdbs, cluster, events, nodes, shards
from shardboard.state.webhooks import Webhook

SPAN = 3600
"""Seconds of metrics."""
POINTS = {"cluster": 361, "nodes": 361, "bdbs": 361, "endpoints": 361, "shards": 13}
"""By topic, at most so many of each object: one in ten seconds; of shards, of which there may be hundreds, one in five minutes. One
more than fit the span, which begins and ends within an interval."""


async def secrets(session: AsyncSession) -> set[str]:
    """Every secret that the store holds in readable form."""
    here, rows = await cluster.load(session), await bdbs.every(session)
    hooks = (await session.execute(select(Webhook))).scalars().all()
    return {
        here.jwt_secret,
        *(secret for secret in ((here.oidc or {}).get("client_secret"), (here.ldap or {}).get("bind_pass")) if secret),
        *(each for row in rows for each in (row.admin_password, row.next_admin_password) if each),
        *(secret for row in rows for secret in scrubbing.secrets_of({**row.config, "tags": []})),
        # Whoever knows the URL of a webhook may often post there.
        *(text for hook in hooks for text in (hook.secret, hook.url)),
    }


async def metrics(session: AsyncSession, topic: str, bdb_uid: int | None, now: int) -> str:
    """The last hour of a topic as CSV; of one database, where the topic tells databases apart."""
    names = sorted(history.metric_names(topic))
    chosen = None if bdb_uid is None else await _of_bdb(session, topic, bdb_uid)
    found = await history.history(session, topic, chosen, names, now - SPAN, now, POINTS[topic], now)
    shown = endpoints.name if topic == "endpoints" else str
    series = ((shown(uid), found.series(place)) for place, uid in enumerate(found.uids))
    return await asyncio.to_thread(support_bundle.csv, found.first, found.step, names, series)


async def _of_bdb(session: AsyncSession, topic: str, bdb_uid: int) -> set[int] | None:
    """Uids in the topic that belong to a database; None: it has nothing to do with databases."""
    match topic:
        case "bdbs":
            return {bdb_uid}
        case "shards":
            return {row.uid for row in await shards.of_bdb(session, bdb_uid)}
        case "endpoints":
            return {endpoints.number(bdb_uid, node.uid) for node in await nodes.every(session)}
    return None


def record(session: AsyncSession, what: str, principal: Principal) -> None:
    """That somebody took one away with him."""
    told = f"A support bundle of {what} was made."
    events.record(session, "support_bundle_made", told, source="cluster", originator=principal.username)
