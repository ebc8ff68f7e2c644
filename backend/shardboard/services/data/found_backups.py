"""Adding backups that were found in a storage location, by their manifests."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data.manifest import InvalidManifest, Manifest
from shardboard.domain.data.statuses import BackupKind, BackupStatus, BackupTrigger
from shardboard.kit.age import AgeError
from shardboard.services.access.authorization import Principal
from shardboard.services.data import backup_keys
from shardboard.services.data.locations import get_location
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.data import backups, locations
from shardboard.state.data.backups import Backup

NO_DATABASE = 0
"""Databases of other clusters can have the uids of databases of this one, so found backups belong to none."""
MAX_NAME = 63


async def add(
    session: AsyncSession, location_uid: int, found: Mapping[str, Manifest], principal: Principal
) -> list[int]:
    """Add the backups in these folders, except those that are known. Return their uids."""
    await clusters.load_for_update(session)
    location = await get_location(session, location_uid)
    known = await backups.paths_in_location(session, location_uid)
    identities = await locations.all_identities(session)
    added = []
    for path, written in sorted(found.items(), key=lambda item: item[1].started):
        if path in known:
            continue
        manifest = _readable(written, identities)
        row = Backup(
            bdb_uid=NO_DATABASE,
            bdb_name=str(manifest.bdb.get("name", ""))[:MAX_NAME],
            location_uid=location_uid,
            location_name=location.name,
            path=path,
            kind=BackupKind.BACKUP,
            trigger=BackupTrigger.MANUAL,
            status=BackupStatus.SUCCEEDED,
            recipients=list(manifest.recipients),
            created_at=_moment(manifest.started),
            finished_at=_moment(manifest.ended),
            bytes=manifest.bytes,
            raw_bytes=manifest.raw_bytes,
            keys=manifest.keys,
            engine_version=manifest.engine_version,
            shards_count=len(manifest.files),
            slots={str(number): each.slots for number, each in enumerate(manifest.files)},
            bdb=dict(manifest.bdb),
            originator=principal.username,
            action_uid="",
        )
        session.add(row)
        await session.flush()
        await backups.save_manifest(session, row.uid, manifest.as_json())
        added.append(row.uid)
    if added:
        message = f"{len(added)} backups were found in the location {location.name}."
        events.record(session, "backups_found", message, originator=principal.username)
    return added


def _readable(manifest: Manifest, identities: Sequence[str]) -> Manifest:
    """Decrypt the protected part if possible. Otherwise, restores decrypt it, with the private key of the request."""
    with contextlib.suppress(AgeError, InvalidManifest):
        return backup_keys.unsealed(manifest, identities)
    return manifest


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
