"""Endpoints of user sessions (extension): the user's own, or those of users that the role can change."""

from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, CurrentLogin, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.login_throttle import login_change
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.schemas.timestamps import iso
from shardboard.services.access import sessions as service

router = ApiRouter(prefix="/v1/users/{uid}/sessions", tags=["users"])


class SessionOut(BaseModel):
    """Session of a user."""

    uid: int
    address: str
    """Source address of the login."""
    browser: str
    """User-Agent header; empty if it was missing."""
    created_at: str
    last_seen_at: str
    """Accurate to the minute."""
    expires_at: str
    current: bool
    """Whether this is the session of the request."""


class EndedSessions(BaseModel):
    ended: int
    """Number of sessions that were ended."""


SessionList = Annotated[ListQuery, Depends(list_query_of(SessionOut))]


@router.get("", response_model=list[SessionOut], responses=error_responses(404))
async def list_sessions(login: CurrentLogin, session: ReadSession, uid: Uid, query: SessionList) -> JSONResponse:
    """Return the sessions of a user, newest first. For other users, requires the role `admin` or `user_manager`."""
    found = [
        SessionOut(
            uid=row.uid,
            address=row.address,
            browser=row.browser,
            created_at=iso(row.created_at),
            last_seen_at=iso(row.last_seen_at),
            expires_at=iso(row.expires_at),
            current=row.uid == login.session_uid,
        )
        for row in await service.list_for_user(session, uid, login.principal)
    ]
    return query.reply([each.model_dump() for each in found])


@router.delete("", responses=error_responses(404))
async def end_sessions(login: CurrentLogin, console: ConsoleDep, uid: Uid, dry_run: DryRun) -> EndedSessions:
    """End all sessions of a user except the current one. For other users, requires the role `admin` or `user_manager`."""
    async with login_change(console.store, dry_run=dry_run) as session:
        ended = await service.end_others(session, uid, login.session_uid, login.principal)
    return EndedSessions(ended=ended)


@router.delete("/{session_uid}", responses=error_responses(404))
async def end_session(
    login: CurrentLogin, console: ConsoleDep, uid: Uid, session_uid: Uid, dry_run: DryRun
) -> dict[str, str]:
    """End a session immediately. For sessions of other users, requires the role `admin` or `user_manager`."""
    async with login_change(console.store, dry_run=dry_run) as session:
        await service.end(session, uid, session_uid, login.principal)
    return {}
