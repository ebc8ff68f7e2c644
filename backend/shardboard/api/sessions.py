"""Endpoints of user sessions (extension): the user's own, or those of users that the role can change."""

from fastapi import APIRouter
from pydantic import BaseModel

from shardboard.api.deps import CurrentLogin, Reader, TheConsole
from shardboard.api.gate import look_again
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.schemas.times import iso
from shardboard.services import sessions as service

router = APIRouter(prefix="/users/{uid}/sessions", tags=["users"])


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


class Ended(BaseModel):
    ended: int
    """Number of sessions that were ended."""


@router.get("", responses=errors(404))
async def list_sessions(login: CurrentLogin, session: Reader, uid: Uid) -> list[SessionOut]:
    """Return the sessions of a user, newest first. For other users, requires the role `admin` or `user_manager`."""
    return [
        SessionOut(
            uid=row.uid,
            address=row.address,
            browser=row.browser,
            created_at=iso(row.created_at),
            last_seen_at=iso(row.last_seen_at),
            expires_at=iso(row.expires_at),
            current=row.uid == login.session_uid,
        )
        for row in await service.of_user(session, uid, login.principal)
    ]


@router.delete("", responses=errors(404))
async def end_sessions(login: CurrentLogin, console: TheConsole, uid: Uid) -> Ended:
    """End all sessions of a user except the current one. For other users, requires the role `admin` or `user_manager`."""
    async with console.store.begin() as session:
        ended = await service.end_others(session, uid, login.session_uid, login.principal)
    look_again(console.store)
    return Ended(ended=ended)


@router.delete("/{session_uid}", responses=errors(404))
async def end_session(login: CurrentLogin, console: TheConsole, uid: Uid, session_uid: Uid) -> dict[str, str]:
    """End a session immediately. For sessions of other users, requires the role `admin` or `user_manager`."""
    async with console.store.begin() as session:
        await service.end(session, uid, session_uid, login.principal)
    look_again(console.store)
    return {}
