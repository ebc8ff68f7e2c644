"""Contents of a support bundle from the store, and the secrets that it must not contain."""

import asyncio
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import redaction
from shardboard.domain.cluster import support_bundle
from shardboard.domain.metrics import endpoint_metrics
from shardboard.queries.metrics import metric_history as history
from shardboard.schemas.data.locations import secrets_in
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster import cluster, nodes
from shardboard.state.data import locations
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.data.restores import Restore
from shardboard.state.databases import bdbs, shards

PERIOD_SECONDS = 3600
"""Period of the metrics in seconds."""
MAX_POINTS = {"cluster": 361, "nodes": 361, "bdbs": 361, "endpoints": 361, "shards": 13}
"""Maximum number of points per object, by topic: one per 10 s; for shards, which may be hundreds, one per 5 min. The number is one
more than fits the period, because the period starts and ends within an interval."""


async def secrets(session: AsyncSession) -> set[str]:
    """Return all secrets that the store contains in readable form."""
    cluster_row, rows = await cluster.load(session), await bdbs.list_all(session)
    hooks = (await session.execute(select(Webhook))).scalars().all()
    return {
        cluster_row.jwt_secret,
        *(
            secret
            for secret in ((cluster_row.oidc or {}).get("client_secret"), (cluster_row.ldap or {}).get("bind_pass"))
            if secret
        ),
        *(each for row in rows for each in (row.admin_password, row.next_admin_password) if each),
        *(section for row in rows for section in row.info_sections),  # engines log the rules that contain them
        *(secret for row in rows for secret in redaction.secrets_of({**row.config, "tags": []})),
        # The URL of a webhook often is enough to post to it.
        *(text for hook in hooks for text in (hook.secret, hook.url)),
        *(secret for location in await _locations(session) for secret in secrets_in(location)),
        *await _private_keys(session),
    }


async def _locations(session: AsyncSession) -> list[dict[str, Any]]:
    """Return all storage locations that the store contains, with their credentials."""
    named = (await session.execute(select(BackupLocation.location))).scalars()
    exports = (await session.execute(select(Backup.location).where(Backup.location.is_not(None)))).scalars()
    imports = (await session.execute(select(Restore.sources))).scalars()
    sources = (source["location"] for each in imports for source in each)
    return [location for location in (*named, *exports, *sources) if location]


async def _private_keys(session: AsyncSession) -> list[str]:
    """Return the private keys of locations and of running restores."""
    imports = (await session.execute(select(Restore.sources))).scalars()
    sent = [key for sources in imports for source in sources for key in source.get("identities") or ()]
    return [*await locations.all_identities(session), *sent]


async def metrics(session: AsyncSession, topic: str, bdb_uid: int | None, now: int) -> str:
    """Return the last hour of a topic as CSV, limited to one database if the topic distinguishes databases."""
    names = sorted(history.metric_names(topic))
    selected_uids = None if bdb_uid is None else await _uids_of_bdb(session, topic, bdb_uid)
    frames = await history.history(
        session, topic, selected_uids, names, now - PERIOD_SECONDS, now, MAX_POINTS[topic], now
    )
    name_of = endpoint_metrics.name if topic == "endpoints" else str
    series = ((name_of(uid), frames.series(index)) for index, uid in enumerate(frames.uids))
    return await asyncio.to_thread(support_bundle.csv, frames.first, frames.step, names, series)


async def _uids_of_bdb(session: AsyncSession, topic: str, bdb_uid: int) -> set[int] | None:
    """Return the uids in the topic that belong to a database; None if the topic does not distinguish databases."""
    match topic:
        case "bdbs":
            return {bdb_uid}
        case "shards":
            return {row.uid for row in await shards.list_for_bdb(session, bdb_uid)}
        case "endpoints":
            return {endpoint_metrics.number(bdb_uid, node.uid) for node in await nodes.list_all(session)}
    return None


def record(session: AsyncSession, what: str, principal: Principal) -> None:
    """Record that a support bundle was created."""
    message = f"A support bundle of {what} was created."
    events.record(session, "support_bundle_made", message, source="cluster", originator=principal.username)
