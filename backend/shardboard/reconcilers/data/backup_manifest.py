"""The manifest of a backup, from the results of its snapshots. Its content is the same each time that it is built."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import SnapshotResult
from shardboard.domain.data.analysis import merge_analyses
from shardboard.domain.data.manifest import Manifest, ManifestFile
from shardboard.domain.data.statuses import TransferStatus
from shardboard.state.data import transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.transfers import Transfer

_SHA256 = re.compile(r"[0-9a-f]{64}")


async def build(session: AsyncSession, backup: Backup, snapshots: Sequence[Transfer]) -> Manifest:
    """Return the manifest. `snapshots` are all transfers of snapshots of the backup."""
    succeeded = [each for each in snapshots if each.status == TransferStatus.SUCCEEDED]
    stored = await transfers.results(session, [each.uid for each in succeeded])
    results = {each.uid: SnapshotResult.model_validate(stored[each.uid]) for each in succeeded}
    ordered = sorted(succeeded, key=lambda each: each.pair or 0)
    types: Counter[str] = Counter()
    for result in results.values():
        types.update(result.types)
    contents = sorted(
        (each.slot, each.keys, each.digest) for result in results.values() for each in result.slots if each.keys
    )
    return Manifest(
        backup_uid=backup.uid,
        bdb=backup.bdb,
        engine_version=backup.engine_version,
        started=backup.created_at.isoformat(),
        ended=max((_moment(each.finished_at) for each in succeeded), default=""),
        files=[_file(backup, each, results[each.uid]) for each in ordered],
        slots=contents,
        types=dict(sorted(types.items())),
        functions=sorted({name for result in results.values() for name in result.functions}),
        analysis=merge_analyses([results[each.uid].analysis for each in ordered]),
        recipients=backup.recipients,
    )


async def checksum(session: AsyncSession, writes: Sequence[Transfer]) -> str:
    """Return the SHA-256 of the file that one of these transfers has written, as its node reported it; empty if it did not. The
    content of an encrypted manifest differs each time that it is built.
    """
    written = [each.uid for each in writes if each.status == TransferStatus.SUCCEEDED]
    results = await transfers.results(session, written)
    reported = [str(result.get("sha256")) for result in results.values()]
    return next(filter(_SHA256.fullmatch, reported), "")


def positions(manifest: Manifest) -> list[dict[str, Any]] | None:
    """Return the moments of the files (`Backup.positions`); None if the engine did not report them."""
    if not all(each.replication_id and each.ended for each in manifest.files):
        return None
    return [
        {"replication_id": each.replication_id, "offset": each.replication_offset, "ended": each.ended}
        for each in manifest.files
    ]


def _file(backup: Backup, transfer: Transfer, result: SnapshotResult) -> ManifestFile:
    return ManifestFile(
        name=transfer.path.rpartition("/")[2],
        slots=backup.slots[str(transfer.pair)],
        bytes=result.bytes,
        raw_bytes=result.raw_bytes,
        sha256=result.sha256,
        keys=result.keys,
        expires=result.expires,
        rdb_version=result.rdb_version,
        node_uid=transfer.node_uid,
        started=_moment(transfer.created_at),
        ended=_moment(transfer.finished_at),
        replication_id=result.replication_id,
        replication_offset=result.replication_offset,
    )


def _moment(moment: datetime | None) -> str:
    return moment.isoformat() if moment is not None else ""
