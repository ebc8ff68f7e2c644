"""Actions over HTTP, in the shapes of version 1 and version 2."""

from datetime import UTC, datetime

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Principal, Reader, Tx
from shardboard.api.parameters import Uid
from shardboard.api.reach import AnyEditor, AnyViewer, BdbViewer
from shardboard.api.replies import errors
from shardboard.errors import NotFound
from shardboard.schemas import actions as schema
from shardboard.services import actions as service
from shardboard.state import actions, bdbs
from shardboard.state.actions import Action

router = APIRouter(tags=["actions"])
router_v2 = APIRouter(tags=["actions"])


@router.get("/actions", response_model=schema.Actions, responses=errors())
async def list_actions_v1(viewer: AnyViewer, session: Reader) -> JSONResponse:
    """Running and recent actions, newest first."""
    return JSONResponse(schema.render_v1_list(await service.seen(session, viewer), datetime.now(UTC)))


@router.get("/actions/bdb/{uid}", response_model=schema.Actions, responses=errors(404))
async def list_bdb_actions(_viewer: BdbViewer, session: Reader, uid: Uid) -> JSONResponse:
    """Running and past actions of one database, newest first."""
    found = await actions.of_bdb(session, uid)
    if not found and await bdbs.by_uid(session, uid) is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    return JSONResponse(schema.render_v1_list(found, datetime.now(UTC)))


@router.get("/actions/{action_uid}", response_model=schema.StateMachine, responses=errors(404))
async def get_action_v1(viewer: AnyViewer, session: Reader, action_uid: str) -> JSONResponse:
    """One action."""
    return JSONResponse(schema.render_v1(await _find(session, action_uid, viewer), datetime.now(UTC)))


@router.delete("/actions/{action_uid}", response_model=schema.StateMachine, responses=errors(404, 409))
async def cancel_action(editor: AnyEditor, session: Tx, action_uid: str) -> JSONResponse:
    """Ask an action to end early. What it has begun is undone or brought to its end; then its status is `cancelled`."""
    action = await service.cancel(session, await _find(session, action_uid, editor), editor)
    return JSONResponse(schema.render_v1(action, datetime.now(UTC)))


@router_v2.get("/actions", response_model=list[schema.Action], responses=errors())
async def list_actions(viewer: AnyViewer, session: Reader) -> JSONResponse:
    """Running and recent actions, newest first, with their steps."""
    return JSONResponse([schema.render_v2(action) for action in await service.seen(session, viewer)])


@router_v2.get("/actions/{action_uid}", response_model=schema.Action, responses=errors(404))
async def get_action(viewer: AnyViewer, session: Reader, action_uid: str) -> JSONResponse:
    """One action with its steps."""
    return JSONResponse(schema.render_v2(await _find(session, action_uid, viewer)))


async def _find(session: Reader, uid: str, by: Principal) -> Action:
    # Only what can be a uid reaches the store: PostgreSQL rejects text with a zero byte.
    action = await actions.by_uid(session, uid) if uid.isprintable() and len(uid) <= 64 else None
    if action is None or not await service.may_see(session, action, by):
        raise NotFound("not_found", "There is no such action; finished ones are kept for a while only.")
    return action
