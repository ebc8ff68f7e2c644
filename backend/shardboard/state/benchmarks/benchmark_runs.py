"""Benchmarks: runs, the load generators that they consist of, and the reported seconds."""

import json
import uuid
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, LargeBinary, String, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES, LoadStatus, PlanStep
from shardboard.store.db import Base, UtcDateTime


class Benchmark(Base):
    """`spec` is the request (phases, repetitions, load nodes, limits), `facts` the environment, `summary` the results."""

    __tablename__ = "benchmarks"
    __kind__ = "benchmark"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str]
    notes: Mapped[str] = mapped_column(Text, default="")
    tags: Mapped[list[dict[str, str]]] = mapped_column(JSON, default=list)
    bdb_uid: Mapped[int] = mapped_column(index=True)
    bdb_name: Mapped[str]
    status: Mapped[str]
    """queued, running, completed, failed, stopped."""
    detail: Mapped[str] = mapped_column(Text, default="")
    """One sentence, for example why it failed."""
    spec: Mapped[dict[str, Any]] = mapped_column(JSON)
    facts: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    summary: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    search: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list, server_default="[]")
    """Steps of a search for the highest rate, by repetition of the last phase. The last one has no results until it has ended."""
    originator: Mapped[str]
    action_uid: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class BenchmarkLoad(Base):
    """One run of the load generator on one node, for one repetition of a phase."""

    __tablename__ = "benchmark_loads"

    uid: Mapped[str] = mapped_column(String(32), primary_key=True)
    benchmark_uid: Mapped[int] = mapped_column(index=True)
    phase: Mapped[int]
    repetition: Mapped[int]
    node_uid: Mapped[int]
    status: Mapped[str]
    """waiting, running, stopping, ended, failed, skipped."""
    detail: Mapped[str] = mapped_column(Text, default="")
    is_stored_on_node: Mapped[bool] = mapped_column(default=False)
    """Whether its node has its files: from before the start request until they are removed."""
    lines: Mapped[int] = mapped_column(default=0)
    """Number of collected lines."""
    progress: Mapped[float | None]
    """0-1; None while unknown."""
    first_line: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    last_line: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """Of the output: parameters and results of the load generator."""


class BenchmarkSecond(Base):
    """One compressed line of a generator about one second, by line number."""

    __tablename__ = "benchmark_seconds"

    load_uid: Mapped[str] = mapped_column(String(32), primary_key=True)
    line: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class BenchmarkReport(Base):
    """Report of the generator about one load, in memtier's JSON layout, compressed."""

    __tablename__ = "benchmark_reports"

    load_uid: Mapped[str] = mapped_column(String(32), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


Index("ix_benchmark_loads_is_stored_on_node", BenchmarkLoad.is_stored_on_node)


@dataclass(frozen=True)
class LoadRecord:
    """A decoded line of a load."""

    load_uid: str
    line: int
    record: dict[str, Any]


@dataclass(frozen=True)
class StoredLoadRecord:
    """A line as stored."""

    load_uid: str
    line: int
    data: bytes

    @property
    def record(self) -> dict[str, Any]:
        """The decoded line. It can have tens of kilobytes, so the result is not cached."""
        return _unpacked(self.data)


async def page(
    session: AsyncSession, *, bdb_uids: Collection[int] | None = None, limit: int, offset: int = 0
) -> Sequence[Benchmark]:
    """Return runs on these databases, newest first."""
    query = select(Benchmark).order_by(Benchmark.uid.desc()).limit(limit).offset(offset)
    if bdb_uids is not None:
        query = query.where(Benchmark.bdb_uid.in_(bdb_uids))
    return (await session.execute(query)).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Benchmark | None:
    return await session.get(Benchmark, uid)


async def list_by_uids(session: AsyncSession, uids: Collection[int]) -> Sequence[Benchmark]:
    query = select(Benchmark).where(Benchmark.uid.in_(uids)).order_by(Benchmark.uid)
    return (await session.execute(query)).scalars().all()


async def open_before(session: AsyncSession, benchmark: Benchmark) -> Benchmark | None:
    """Return an earlier run on the same database that has not ended."""
    query = (
        select(Benchmark)
        .where(
            Benchmark.bdb_uid == benchmark.bdb_uid, Benchmark.status.in_(OPEN_STATUSES), Benchmark.uid < benchmark.uid
        )
        .order_by(Benchmark.uid)
        .limit(1)
    )
    return (await session.execute(query)).scalar_one_or_none()


async def list_started_specs(session: AsyncSession, bdb_uid: int) -> Sequence[dict[str, Any]]:
    """Return the specs of all runs on a database that have started."""
    query = select(Benchmark.spec).where(Benchmark.bdb_uid == bdb_uid, Benchmark.started_at.is_not(None))
    return (await session.execute(query)).scalars().all()


async def list_open(session: AsyncSession, bdb_uid: int) -> Sequence[Benchmark]:
    """Return the runs on a database that have not ended."""
    query = select(Benchmark).where(Benchmark.bdb_uid == bdb_uid, Benchmark.status.in_(OPEN_STATUSES))
    return (await session.execute(query)).scalars().all()


async def list_loads(session: AsyncSession, uids: Collection[int]) -> Sequence[BenchmarkLoad]:
    """Return the loads of these runs in the order of execution."""
    ordering = (BenchmarkLoad.benchmark_uid, BenchmarkLoad.phase, BenchmarkLoad.repetition, BenchmarkLoad.node_uid)
    query = select(BenchmarkLoad).where(BenchmarkLoad.benchmark_uid.in_(uids)).order_by(*ordering)
    return (await session.execute(query)).scalars().all()


def add_loads(session: AsyncSession, benchmark: Benchmark, step: PlanStep) -> None:
    """Add the waiting loads of a step, one for each load node."""
    session.add_all(
        BenchmarkLoad(
            uid=uuid.uuid4().hex,
            benchmark_uid=benchmark.uid,
            phase=step.phase,
            repetition=step.repetition,
            node_uid=node_uid,
            status=LoadStatus.WAITING,
        )
        for node_uid in benchmark.spec["load_nodes"]
    )


async def list_loads_on_nodes(session: AsyncSession) -> Sequence[BenchmarkLoad]:
    """Return loads whose files a node still stores."""
    return (await session.execute(select(BenchmarkLoad).where(BenchmarkLoad.is_stored_on_node))).scalars().all()


async def lock_load(session: AsyncSession, uid: str) -> BenchmarkLoad | None:
    """Return a load, locked for a change: requests and progress are written independently and must not overwrite each other."""
    return await session.get(BenchmarkLoad, uid, with_for_update=True, populate_existing=True)


async def add_seconds(session: AsyncSession, records: Sequence[LoadRecord]) -> None:
    if records:
        rows = [{"load_uid": each.load_uid, "line": each.line, "data": _packed(each.record)} for each in records]
        await session.execute(insert(BenchmarkSecond), rows)


async def seconds(session: AsyncSession, load_uids: Collection[str], after: int = 0) -> list[StoredLoadRecord]:
    """Return lines after a number for these loads, by load and line; still packed, because there can be hundreds of thousands."""
    query = (
        select(BenchmarkSecond.load_uid, BenchmarkSecond.line, BenchmarkSecond.data)
        .where(BenchmarkSecond.load_uid.in_(load_uids), BenchmarkSecond.line > after)
        .order_by(BenchmarkSecond.load_uid, BenchmarkSecond.line)
    )
    return [StoredLoadRecord(uid, line, data) for uid, line, data in (await session.execute(query)).all()]


async def save_report(session: AsyncSession, load_uid: str, text: str) -> None:
    await session.merge(BenchmarkReport(load_uid=load_uid, data=zlib.compress(text.encode())))


async def reports(session: AsyncSession, load_uids: Collection[str]) -> dict[str, str]:
    """Return report texts by load."""
    query = select(BenchmarkReport).where(BenchmarkReport.load_uid.in_(load_uids))
    return {row.load_uid: zlib.decompress(row.data).decode() for row in (await session.execute(query)).scalars()}


async def remove(session: AsyncSession, benchmark: Benchmark) -> None:
    """Delete a run and all its measurements."""
    load_uids = select(BenchmarkLoad.uid).where(BenchmarkLoad.benchmark_uid == benchmark.uid)
    for table in (BenchmarkSecond, BenchmarkReport):
        await session.execute(delete(table).where(table.load_uid.in_(load_uids)))
    await session.execute(delete(BenchmarkLoad).where(BenchmarkLoad.benchmark_uid == benchmark.uid))
    await session.delete(benchmark)


def _packed(record: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(record, separators=(",", ":")).encode(), 1)


def _unpacked(data: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(zlib.decompress(data))
    return record
