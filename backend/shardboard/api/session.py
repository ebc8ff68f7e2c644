"""The browser's login: a session in a cookie that no script can read and no other site can send."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from shardboard import __version__
from shardboard.api import credentials
from shardboard.api.deps import CurrentLogin, Reader, TheConsole, Tx, Viewer
from shardboard.api.errors import ERROR_REPLIES
from shardboard.errors import Unauthorized
from shardboard.services import tokens
from shardboard.state import cluster, users
from shardboard.state.cluster import Cluster
from shardboard.state.users import User

router = APIRouter(prefix="/session", tags=["session"], responses=ERROR_REPLIES)


class LoginForm(BaseModel):
    username: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[str, Field(min_length=1, max_length=256, repr=False)]


class SessionInfo(BaseModel):
    """Who is logged in, where."""

    uid: int
    username: str
    role: str
    cluster_name: str
    version: str


@router.post("")
async def log_in(form: LoginForm, request: Request, response: Response, console: TheConsole) -> SessionInfo:
    """Log in; the session lasts 12 hours."""
    source = credentials.origin(request)
    found = await credentials.log_in(console.store, form.username, form.password, source, audit=True)
    async with console.store.read() as session:
        here = await cluster.load(session)
    mark = tokens.password_mark(here.jwt_secret, found.password)
    token = tokens.issue(here.jwt_secret, found.user.email, mark, "session", tokens.SESSION_SECONDS)
    _set_cookie(request, response, token, tokens.SESSION_SECONDS)
    return _shape(found.user, here)


@router.get("")
async def current(session: Reader, principal: Viewer) -> SessionInfo:
    """Who is logged in."""
    user = await users.by_email(session, principal.username)
    if user is None:
        raise Unauthorized("token_expired", "The user is gone.")
    return _shape(user, await cluster.load(session))


@router.delete("")
async def log_out(
    request: Request, response: Response, session: Tx, login: CurrentLogin, console: TheConsole
) -> dict[str, str]:
    """Log out: the session is void from now on, wherever its cookie was copied to."""
    if login.claims is not None and login.claims.use == "session":
        tokens.end(session, login.claims)
        credentials.forget_session(console.store, login.claims)
    _set_cookie(request, response, "", 0)
    return {}


def _shape(user: User, here: Cluster) -> SessionInfo:
    return SessionInfo(uid=user.uid, username=user.email, role=user.role, cluster_name=here.name, version=__version__)


def _set_cookie(request: Request, response: Response, value: str, max_age: int) -> None:
    response.set_cookie(
        credentials.COOKIE,
        value,
        max_age=max_age,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
