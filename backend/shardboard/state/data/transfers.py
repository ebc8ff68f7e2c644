"""Transfers of backups and restores: one row for each process that a node was requested to start."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, String, Text, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, deferred, mapped_column

from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.state.data.packed_json import pack, unpack
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedText

DATA_KINDS = (TransferKind.SNAPSHOT, TransferKind.RESTORE, TransferKind.INSPECT)
"""Kinds that copy or read data, whose number is limited."""


class Transfer(Base):
    """The row is written before the request is sent, so that every started transfer is removed from its node."""

    __tablename__ = "transfers"

    uid: Mapped[str] = mapped_column(String(32), primary_key=True)
    backup_uid: Mapped[int | None] = mapped_column(index=True)
    restore_uid: Mapped[int | None] = mapped_column(index=True)
    recording_uid: Mapped[int | None] = mapped_column(index=True)
    """If all three are None, it belongs to a request that waits for it."""
    node_uid: Mapped[int]
    kind: Mapped[str]
    """A `TransferKind`."""
    status: Mapped[str]
    """A `TransferStatus`."""
    pair: Mapped[int | None]
    """Replication pair of a snapshot or recording."""
    shard_uids: Mapped[list[int]] = mapped_column(JSON, default=list)
    """The shard of a snapshot or recording, or the primaries that receive keys."""
    run: Mapped[int] = mapped_column(default=1, server_default="1")
    """Run of the backup (`Backup.runs`)."""
    source: Mapped[int] = mapped_column(default=0)
    """Index of the source of a restore, or of the list of its files."""
    path: Mapped[str] = mapped_column(default="")
    """File that it writes; of a list of files the path after which it continues."""
    is_stored_on_node: Mapped[bool] = mapped_column(default=False)
    """Whether its node has its files: from before the start request until they are removed."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    result_data: Mapped[str | None] = deferred(mapped_column("result", EncryptedText("transfers.result")))
    """Result, compressed; read with `results`. Encrypted, because it contains names of keys."""
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    raw_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    keys: Mapped[int] = mapped_column(BigInteger, default=0)
    error: Mapped[str] = mapped_column(Text, default="")
    error_code: Mapped[str] = mapped_column(default="")


Index("ix_transfers_is_stored_on_node", Transfer.is_stored_on_node)


async def list_for_backups(session: AsyncSession, uids: Collection[int]) -> Sequence[Transfer]:
    """Return the transfers of these backups, oldest first."""
    return await _ordered(session, Transfer.backup_uid.in_(uids))


async def list_for_restores(session: AsyncSession, uids: Collection[int]) -> Sequence[Transfer]:
    """Return the transfers of these restores, oldest first."""
    return await _ordered(session, Transfer.restore_uid.in_(uids))


async def list_for_recordings(session: AsyncSession) -> Sequence[Transfer]:
    """Return the transfers of recordings, oldest first."""
    return await _ordered(session, Transfer.recording_uid.is_not(None))


async def list_stored_on_nodes(session: AsyncSession) -> Sequence[Transfer]:
    """Return transfers whose files a node still stores, oldest first."""
    return await _ordered(session, Transfer.is_stored_on_node)


async def by_uid(session: AsyncSession, uid: str) -> Transfer | None:
    return await session.get(Transfer, uid)


async def running_by_node(session: AsyncSession) -> dict[int, int]:
    """Return the number of transfers of data that may be running, by node."""
    query = (
        select(Transfer.node_uid, func.count())
        .where(Transfer.is_stored_on_node, Transfer.finished_at.is_(None), Transfer.kind.in_(DATA_KINDS))
        .group_by(Transfer.node_uid)
    )
    return {row[0]: row[1] for row in (await session.execute(query)).all()}


def set_result(row: Transfer, result: dict[str, Any]) -> None:
    row.status = TransferStatus.SUCCEEDED
    row.result_data = pack(result)


async def results(session: AsyncSession, uids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the results of transfers that have one, by uid."""
    query = select(Transfer.uid, Transfer.result_data).where(Transfer.uid.in_(uids), Transfer.result_data.is_not(None))
    rows = (await session.execute(query)).all()
    return {uid: unpack(packed) for uid, packed in rows if packed is not None}


def clear_results(rows: Sequence[Transfer]) -> None:
    """Delete results that are no longer needed, because they are large."""
    for row in rows:
        row.result_data = None


def belongs_to_request(row: Transfer) -> bool:
    """Return whether a request waits for it."""
    return row.backup_uid is None and row.restore_uid is None and row.recording_uid is None


async def remove_for_backup(session: AsyncSession, backup_uid: int) -> None:
    await session.execute(delete(Transfer).where(Transfer.backup_uid == backup_uid))


async def _ordered(session: AsyncSession, condition: Any) -> Sequence[Transfer]:
    query = select(Transfer).where(condition).order_by(Transfer.created_at, Transfer.uid)
    return (await session.execute(query)).scalars().all()
