"""Endpoints of actions, in the formats of versions 1 and 2 of the API."""

from datetime import UTC, datetime
from typing import Any

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyEditor, AnyViewer, BdbViewer
from shardboard.api.http.dependencies import Principal, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.api.http.waiting import current_object
from shardboard.console import Console
from shardboard.errors import NotFound
from shardboard.schemas.cluster import actions as schema
from shardboard.services.cluster import actions as service
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["actions"])
router_v2 = ApiRouter(prefix="/v2", tags=["actions"])


@router.get("/actions", summary="List actions", response_model=schema.Actions, responses=error_responses())
async def list_actions_v1(viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the running and recent actions, newest first."""
    return JSONResponse(schema.render_v1_list(await service.list_visible(session, viewer), datetime.now(UTC)))


@router.get("/actions/bdb/{uid}", response_model=schema.Actions, responses=error_responses(404))
async def list_bdb_actions(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the running and past actions of a database, newest first."""
    actions_of_bdb = await actions.list_for_bdb(session, uid)
    if not actions_of_bdb and await bdbs.by_uid(session, uid) is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return JSONResponse(schema.render_v1_list(actions_of_bdb, datetime.now(UTC)))


@router.get(
    "/actions/{action_uid}", summary="Get action", response_model=schema.StateMachine, responses=error_responses(404)
)
async def get_action_v1(viewer: AnyViewer, session: ReadSession, action_uid: str) -> JSONResponse:
    """Return an action. Finished actions are kept for a limited time."""
    return JSONResponse(schema.render_v1(await _find(session, action_uid, viewer), datetime.now(UTC)))


@router.delete("/actions/{action_uid}", response_model=schema.StateMachine, responses=error_responses(404, 409))
async def cancel_action(editor: AnyEditor, session: WriteSession, action_uid: str) -> JSONResponse:
    """Cancel a running action. The steps that have started are undone or completed; the status then becomes `cancelled`.
    A drill of a zone ends on all its nodes.

    Returns 409 if the action has ended (`not_running`) or cannot be canceled (`not_cancellable`). Required role:
    `admin`, `cluster_member`, or `db_member`.
    """
    action = await service.cancel(session, await _find(session, action_uid, editor), editor)
    return JSONResponse(schema.render_v1(action, datetime.now(UTC)))


@router_v2.get("/actions", response_model=list[schema.Action], responses=error_responses())
async def list_actions(viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the running and recent actions with their steps, newest first."""
    return JSONResponse([schema.render_v2(action) for action in await service.list_visible(session, viewer)])


@router_v2.get("/actions/{action_uid}", response_model=schema.Action, responses=error_responses(404))
async def get_action(viewer: AnyViewer, session: ReadSession, action_uid: str) -> JSONResponse:
    """Return an action with its steps. Finished actions are kept for a limited time."""
    return JSONResponse(schema.render_v2(await _find(session, action_uid, viewer)))


@current_object(schema.StateMachine)
async def _current_state_machine(console: Console, principal: Principal, shown: dict[str, Any]) -> dict[str, Any]:
    async with console.store.read() as session:
        return schema.render_v1(await _find(session, shown["action_uid"], principal), datetime.now(UTC))


@current_object(schema.Action)
async def _current_action(console: Console, principal: Principal, shown: dict[str, Any]) -> dict[str, Any]:
    async with console.store.read() as session:
        return schema.render_v2(await _find(session, shown["action_uid"], principal))


async def _find(session: ReadSession, uid: str, principal: Principal) -> Action:
    # Query the store only for printable text: PostgreSQL rejects text with a NUL character.
    action = await actions.by_uid(session, uid) if uid.isprintable() and len(uid) <= 64 else None
    if action is None or not await service.is_visible_to(session, action, principal):
        raise NotFound("not_found", "The action does not exist. Finished actions are kept for a limited time only.")
    return action
