"""The audit log: who did what, from where, with which result.

A deed is a request or a shell command. Each transaction of a deed that writes anything adds a line in the same transaction, so that
every change has a line. The code that sets `current` adds the lines of refused requests.
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

from shardboard.domain.access import audit as rules
from shardboard.domain.access.audit import ChainEnds, RequestOutcome
from shardboard.state.alerting.events import recorded_events
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.cluster import Cluster
from shardboard.store.db import Base, UtcDateTime


class AuditLine(Base):
    """`uid` numbers the lines without gaps; `link` authenticates each line together with the previous one."""

    __tablename__ = "audit_lines"
    __kind__ = "audit"
    __table_args__ = (Index("ix_audit_lines_username", "username", "uid"),)

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    time: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    username: Mapped[str]
    """Username; for a refused sign-in the claimed username."""
    auth_method: Mapped[str]
    """How the user authenticated: password, session, token, service token, join token, shell; empty: not at all."""
    source: Mapped[str]
    method: Mapped[str]
    path: Mapped[str]
    outcome: Mapped[str]
    code: Mapped[str]
    """Error code of a refusal or failure."""
    detail: Mapped[str]
    link: Mapped[str]


class AuditChain(Base):
    """One row: the first and the last line of the log. Adding a line locks it, as the last lock of a transaction."""

    __tablename__ = "audit_chain"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    first: Mapped[int]
    before: Mapped[str]
    last: Mapped[int]
    link: Mapped[str]
    seal: Mapped[str]

    @property
    def chain_ends(self) -> ChainEnds:
        return ChainEnds(self.first, self.before, self.last, self.link)


@dataclass
class AuditContext:
    """A request or command in progress, and its user."""

    source: str
    method: str
    path: str
    username: str = ""
    auth_method: str = ""
    is_recorded: bool = False
    """Whether it has a line."""
    code: str = ""
    detail: str = ""
    """Details of a refusal or failure."""
    secrets: str = ""
    """Secrets that the reply contains."""
    refused: bool = False
    """Whether it was refused, regardless of the status of the reply: a refused browser is redirected to the web UI."""


current: ContextVar[AuditContext | None] = ContextVar("deed", default=None)
"""The deed of the current task."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods whose writes are bookkeeping unless they have an event."""
_LOST_CHAIN = "lost"
"""Used as the link before the first line if the ends of the log were lost; verification reports this from then on."""


async def record_console_start(session: AsyncSession, version: str) -> None:
    """Record the start of a console. The first one creates the key of the log."""
    cluster = (await session.execute(select(Cluster))).scalar_one()
    if cluster.audit_key is None:
        cluster.audit_key = secrets.token_hex(32)
        if await session.get(AuditChain, 1) is None and not await newest_uid(session):
            session.add(_sealed(AuditChain(uid=1, first=1, before="", last=0, link=""), cluster.audit_key))
        await session.flush()
    await add(session, _console_context("console"), "done", detail=f"A console of release {version} started.")


def without_audit(session: AsyncSession) -> None:
    """Mark the writes of this transaction as bookkeeping that needs no line."""
    session.info["aside"] = True


async def add(
    session: AsyncSession, context: AuditContext, outcome: RequestOutcome, *, code: str = "", detail: str = ""
) -> None:
    """Add one line, as the last operation of the transaction."""
    await session.run_sync(_add, context, outcome, code, detail)


async def chain_verification(session: AsyncSession) -> rules.ChainVerification:
    """Return a check that verifies the lines."""
    key = (await session.execute(select(Cluster.audit_key))).scalar()
    chain = await session.get(AuditChain, 1)
    return rules.ChainVerification(key, chain.chain_ends if chain else ChainEnds(), chain.seal if chain else "")


async def list_after(
    session: AsyncSession, uid: int, limit: int, *, until: datetime | None = None
) -> Sequence[AuditLine]:
    """Return lines with higher uids, at most `limit`, in order; only those from before `until`."""
    query = select(AuditLine).where(AuditLine.uid > uid).order_by(AuditLine.uid).limit(limit)
    if until is not None:
        query = query.where(AuditLine.time < until)
    return (await session.execute(query)).scalars().all()


async def first_since(session: AsyncSession, moment: datetime) -> int | None:
    """Return the uid of the oldest line since a time."""
    return (await session.execute(select(func.min(AuditLine.uid)).where(AuditLine.time >= moment))).scalar()


async def has_older(session: AsyncSession, moment: datetime) -> bool:
    """Return whether there is a line from before a time."""
    oldest = (await session.execute(select(AuditLine.time).order_by(AuditLine.uid).limit(1))).scalar()
    return oldest is not None and oldest < moment


async def newest_uid(session: AsyncSession) -> int:
    """Return the uid of the newest line; 0 without lines."""
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
    """Return lines that match all given filters, newest first; `before` is a uid."""
    filters: list[ColumnElement[bool]] = []
    if before is not None:
        filters.append(AuditLine.uid < before)
    if since is not None:
        filters.append(AuditLine.time >= since)
    if until is not None:
        filters.append(AuditLine.time < until)
    if username:
        filters.append(AuditLine.username == username)
    if outcome:
        filters.append(AuditLine.outcome == outcome)
    if text:
        columns = (AuditLine.username, AuditLine.source, AuditLine.path, AuditLine.code, AuditLine.detail)
        filters.append(or_(*(column.icontains(text, autoescape=True) for column in columns)))
    query = select(AuditLine).where(*filters).order_by(AuditLine.uid.desc()).limit(limit)
    return (await session.execute(query)).scalars().all()


async def delete_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Remove the oldest lines from before a time, at most `limit`, and return their number. The log records the removal."""
    return await session.run_sync(_remove_before, before, limit)


def _add(session: Session, context: AuditContext, outcome: RequestOutcome, code: str, detail: str) -> None:
    key = _key(session)
    chain = _locked(session, key)
    line = AuditLine(
        uid=chain.last + 1,
        time=datetime.now(UTC),
        outcome=outcome,
        username=rules.truncate("username", context.username),
        auth_method=rules.truncate("auth_method", context.auth_method),
        source=rules.truncate("source", context.source),
        method=rules.truncate("method", context.method),
        path=rules.truncate("path", context.path),
        code=rules.truncate("code", code),
        detail=rules.truncate("detail", detail),
    )
    line.link = rules.link(key, chain.link, line)
    chain.last, chain.link = line.uid, line.link
    _sealed(chain, key)
    session.add(line)
    session.flush()


def _locked(session: Session, key: str) -> AuditChain:
    query = select(AuditChain).with_for_update().execution_options(populate_existing=True)
    chain = session.execute(query).scalar_one_or_none()
    if chain is None:
        newest = session.execute(select(func.max(AuditLine.uid))).scalar()
        chain = _sealed(AuditChain(uid=1, first=1, before=_LOST_CHAIN, last=newest or 0, link=""), key)
        session.add(chain)
        session.flush()
    return chain


def _sealed(chain: AuditChain, key: str) -> AuditChain:
    chain.seal = rules.seal(key, chain.chain_ends)
    return chain


def _key(session: Session) -> str:
    key = session.execute(select(Cluster.audit_key)).scalar()
    if key is None:
        raise RuntimeError("the store has no key of the audit log, so changes cannot be recorded and are rejected")
    return key


def _console_context(command: str) -> AuditContext:
    return AuditContext(source="console", method="", path=command, username="system")


def _remove_before(session: Session, before: datetime, limit: int) -> int:
    key = _key(session)
    chain = _locked(session, key)
    oldest = select(AuditLine.uid, AuditLine.link, AuditLine.time).where(AuditLine.uid < chain.last)
    rows = session.execute(oldest.order_by(AuditLine.uid).limit(limit)).all()
    # Consecutive lines from the start only: a wrong clock may have given a later line an earlier time.
    expired = list(takewhile(lambda row: row.time < before, rows))
    if not expired:
        return 0
    first, last = expired[0].uid, expired[-1].uid
    statement = delete(AuditLine).where(AuditLine.uid <= last).execution_options(synchronize_session=False)
    session.execute(statement)
    chain.first, chain.before = last + 1, expired[-1].link
    verb = "was" if len(expired) == 1 else "were"
    reason = f"by the retention policy (older than {before:%Y-%m-%d %H:%M} UTC)"
    message = f"{rules.line_range_text(first, last)} {verb} removed {reason}."
    _add(session, _console_context("console"), "done", "", message)
    return len(expired)


@event.listens_for(Session, "before_commit")
def _record(session: Session) -> None:
    context = current.get()
    if context is None or session.info.get("aside"):
        return
    session.flush()
    sentences = [each.description for each in recorded_events(session)]
    if sentences or (session.info.get("wrote") and context.method not in SAFE_METHODS):
        _add(session, context, "done", "", " ".join(dict.fromkeys(sentences)) or _changed(session))
        context.is_recorded = True


def _changed(session: Session) -> str:
    """Return the description of a transaction without events."""
    changed = session.info.get("changed", set())
    actions = [uid for kind, uid in changed if kind == "action"]
    action_descriptions = session.execute(select(Action.description).where(Action.uid.in_(actions))).scalars().all()
    if action_descriptions:
        return f"Requested: {'; '.join(sorted(action_descriptions))}."
    return f"Changed: {', '.join(sorted(f'{kind} {uid}' for kind, uid in changed))}." if changed else ""


@event.listens_for(Session, "after_flush")
def _record_flush(session: Session, _context: object) -> None:
    session.info["wrote"] = True


@event.listens_for(Session, "do_orm_execute")
def _record_statement(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        state.session.info["wrote"] = True
