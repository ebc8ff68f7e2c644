"""The audit trail: who did what from where, and what became of it.

A request, or a command of the shell, is a deed. Every transaction within one that writes anything adds a line in the same
transaction, so that no change is without its line. Whoever sets `current` adds those of refusals.
"""

import secrets
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from sqlalchemy import ColumnElement, Index, delete, event, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, ORMExecuteState, Session, mapped_column

from shardboard.db import Base, UtcDateTime
from shardboard.domain import audit as rules
from shardboard.domain.audit import Ends, Outcome
from shardboard.state.actions import Action
from shardboard.state.cluster import Cluster
from shardboard.state.events import told


class AuditLine(Base):
    """`uid` numbers the lines without a gap; `link` ties each to the one before."""

    __tablename__ = "audit_lines"
    __kind__ = "audit"
    __table_args__ = (Index("ix_audit_lines_username", "username", "uid"),)

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    time: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    username: Mapped[str]
    """Who; of a refused login who it claimed to be."""
    proof: Mapped[str]
    """How that was proven: password, session, token, service token, join token, shell; empty: not at all."""
    source: Mapped[str]
    method: Mapped[str]
    path: Mapped[str]
    outcome: Mapped[str]
    code: Mapped[str]
    """Of the refusal or failure."""
    detail: Mapped[str]
    link: Mapped[str]


class AuditChain(Base):
    """One row: where the trail begins and ends. Who adds a line holds its lock, as the last that a transaction takes."""

    __tablename__ = "audit_chain"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    first: Mapped[int]
    before: Mapped[str]
    last: Mapped[int]
    link: Mapped[str]
    seal: Mapped[str]

    @property
    def ends(self) -> Ends:
        return Ends(self.first, self.before, self.last, self.link)


@dataclass
class Deed:
    """What is being done, by whom."""

    source: str
    method: str
    path: str
    username: str = ""
    proof: str = ""
    noted: bool = False
    """It has a line."""
    code: str = ""
    detail: str = ""
    """Of a refusal or failure."""
    secrets: str = ""
    """What secrets the reply shows."""
    refused: bool = False
    """Whatever the reply's status: a browser is sent back to the page."""


current: ContextVar[Deed | None] = ContextVar("deed", default=None)
"""Of this task."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""What they write is bookkeeping, unless there is an event about it."""
_LOST = "lost"
"""In place of what is before the first line, where beginning and end of a trail were lost: the check tells of it from then on."""


async def begin(session: AsyncSession, version: str) -> None:
    """A console starts. The first one makes the key of the trail."""
    cluster = (await session.execute(select(Cluster))).scalar_one()
    if cluster.audit_key is None:
        cluster.audit_key = secrets.token_hex(32)
        if await session.get(AuditChain, 1) is None and not await newest_uid(session):
            session.add(_sealed(AuditChain(uid=1, first=1, before="", last=0, link=""), cluster.audit_key))
        await session.flush()
    await add(session, _of_console("console"), "done", detail=f"A console of release {version} started.")


def aside(session: AsyncSession) -> None:
    """What this transaction writes is bookkeeping, and no deed."""
    session.info["aside"] = True


async def add(session: AsyncSession, deed: Deed, outcome: Outcome, *, code: str = "", detail: str = "") -> None:
    """One line, as the last thing that the transaction does."""
    await session.run_sync(_add, deed, outcome, code, detail)


async def check(session: AsyncSession) -> rules.Check:
    """To follow the lines with."""
    key = (await session.execute(select(Cluster.audit_key))).scalar()
    chain = await session.get(AuditChain, 1)
    return rules.Check(key, chain.ends if chain else Ends(), chain.seal if chain else "")


async def after(session: AsyncSession, uid: int, limit: int, *, until: datetime | None = None) -> Sequence[AuditLine]:
    """Lines with higher uids, at most `limit`, in their order; only those from before `until`."""
    query = select(AuditLine).where(AuditLine.uid > uid).order_by(AuditLine.uid).limit(limit)
    if until is not None:
        query = query.where(AuditLine.time < until)
    return (await session.execute(query)).scalars().all()


async def first_since(session: AsyncSession, moment: datetime) -> int | None:
    """Uid of the oldest line from that moment on."""
    return (await session.execute(select(func.min(AuditLine.uid)).where(AuditLine.time >= moment))).scalar()


async def has_older(session: AsyncSession, moment: datetime) -> bool:
    """Whether there is a line from before that moment."""
    oldest = (await session.execute(select(AuditLine.time).order_by(AuditLine.uid).limit(1))).scalar()
    return oldest is not None and oldest < moment


async def newest_uid(session: AsyncSession) -> int:
    """0 without lines."""
    return (await session.execute(select(func.coalesce(func.max(AuditLine.uid), 0)))).scalar_one()


async def page(
    session: AsyncSession,
    *,
    limit: int,
    before: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    username: str = "",
    outcome: str = "",
    text: str = "",
) -> Sequence[AuditLine]:
    """Lines that match every given filter, newest first; `before` is a uid."""
    wanted: list[ColumnElement[bool]] = []
    if before is not None:
        wanted.append(AuditLine.uid < before)
    if since is not None:
        wanted.append(AuditLine.time >= since)
    if until is not None:
        wanted.append(AuditLine.time < until)
    if username:
        wanted.append(AuditLine.username == username)
    if outcome:
        wanted.append(AuditLine.outcome == outcome)
    if text:
        columns = (AuditLine.username, AuditLine.source, AuditLine.path, AuditLine.code, AuditLine.detail)
        wanted.append(or_(*(column.icontains(text, autoescape=True) for column in columns)))
    query = select(AuditLine).where(*wanted).order_by(AuditLine.uid.desc()).limit(limit)
    return (await session.execute(query)).scalars().all()


async def forget_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Remove the oldest lines, at most `limit`, that are from before a moment; how many those were. The trail says so."""
    return await session.run_sync(_forget, before, limit)


def _add(session: Session, deed: Deed, outcome: Outcome, code: str, detail: str) -> None:
    key = _key(session)
    chain = _locked(session, key)
    line = AuditLine(
        uid=chain.last + 1,
        time=datetime.now(UTC),
        outcome=outcome,
        username=rules.fit("username", deed.username),
        proof=rules.fit("proof", deed.proof),
        source=rules.fit("source", deed.source),
        method=rules.fit("method", deed.method),
        path=rules.fit("path", deed.path),
        code=rules.fit("code", code),
        detail=rules.fit("detail", detail),
    )
    line.link = rules.link(key, chain.link, line)
    chain.last, chain.link = line.uid, line.link
    _sealed(chain, key)
    session.add(line)
    session.flush()


def _locked(session: Session, key: str) -> AuditChain:
    locked = select(AuditChain).with_for_update().execution_options(populate_existing=True)
    chain = session.execute(locked).scalar_one_or_none()
    if chain is None:
        newest = session.execute(select(func.max(AuditLine.uid))).scalar()
        chain = _sealed(AuditChain(uid=1, first=1, before=_LOST, last=newest or 0, link=""), key)
        session.add(chain)
        session.flush()
    return chain


def _sealed(chain: AuditChain, key: str) -> AuditChain:
    chain.seal = rules.seal(key, chain.ends)
    return chain


def _key(session: Session) -> str:
    key = session.execute(select(Cluster.audit_key)).scalar()
    if key is None:
        raise RuntimeError("the store has no key of the audit trail: nothing can be noted, and so nothing changed")
    return key


def _of_console(command: str) -> Deed:
    return Deed(source="console", method="", path=command, username="system")


def _forget(session: Session, before: datetime, limit: int) -> int:
    key = _key(session)
    chain = _locked(session, key)
    oldest = select(AuditLine.uid, AuditLine.link, AuditLine.time).where(AuditLine.uid < chain.last)
    rows = session.execute(oldest.order_by(AuditLine.uid).limit(limit)).all()
    # Only from the beginning: a line that a wrong clock dated is not among those that it seems to be among.
    doomed = list(takewhile(lambda row: row.time < before, rows))
    if not doomed:
        return 0
    first, last = doomed[0].uid, doomed[-1].uid
    gone = delete(AuditLine).where(AuditLine.uid <= last).execution_options(synchronize_session=False)
    session.execute(gone)
    chain.first, chain.before = last + 1, doomed[-1].link
    were = "was" if len(doomed) == 1 else "were"
    kept = f"the policy keeps none from before {before:%Y-%m-%d %H:%M} UTC"
    sentence = f"{rules.named(first, last)} {were} removed: {kept}."
    _add(session, _of_console("console"), "done", "", sentence)
    return len(doomed)


@event.listens_for(Session, "before_commit")
def _note(session: Session) -> None:
    deed = current.get()
    if deed is None or session.info.get("aside"):
        return
    session.flush()
    sentences = [each.description for each in told(session)]
    if sentences or (session.info.get("wrote") and deed.method not in SAFE_METHODS):
        _add(session, deed, "done", "", " ".join(dict.fromkeys(sentences)) or _changed(session))
        deed.noted = True


def _changed(session: Session) -> str:
    """What a transaction without events has changed."""
    changed = session.info.get("changed", set())
    actions = [uid for kind, uid in changed if kind == "action"]
    ordered = session.execute(select(Action.description).where(Action.uid.in_(actions))).scalars().all()
    if ordered:
        return f"Ordered: {'; '.join(sorted(ordered))}."
    return f"Changed: {', '.join(sorted(f'{kind} {uid}' for kind, uid in changed))}." if changed else ""


@event.listens_for(Session, "after_flush")
def _note_flush(session: Session, _context: object) -> None:
    session.info["wrote"] = True


@event.listens_for(Session, "do_orm_execute")
def _note_statement(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        state.session.info["wrote"] = True
