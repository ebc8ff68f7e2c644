"""Webhooks over HTTP: who outside is told of alarms and events."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api import audited
from shardboard.api.deps import Admin, Reader, TheConsole, Tx
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.schemas import webhooks as schema
from shardboard.services import webhooks as service
from shardboard.state import webhooks

router = APIRouter(prefix="/webhooks", tags=["webhooks"])


@router.get("", response_model=list[schema.Webhook], responses=errors())
async def list_webhooks(_admin: Admin, session: Reader) -> JSONResponse:
    """All of them; secrets are never shown."""
    rows = await webhooks.every(session)
    if rows:
        audited.shows_secrets("Addresses of webhooks were shown.")
    return JSONResponse([schema.render(row) for row in rows])


@router.post("", response_model=schema.Webhook, responses=errors(406, 409))
async def create_webhook(admin: Admin, session: Tx, body: schema.NewWebhook) -> JSONResponse:
    """Add one. It is told of what happens from now on: each event in its order, at least once, and of alarms also their end."""
    return JSONResponse(schema.render(await service.create(session, body.model_dump(), admin)))


@router.get("/{uid}", response_model=schema.Webhook, responses=errors(404))
async def get_webhook(_admin: Admin, session: Reader, uid: Uid) -> JSONResponse:
    """One of them."""
    row = await service.find(session, uid)
    audited.shows_secrets("The address of a webhook was shown.")
    return JSONResponse(schema.render(row))


@router.put("/{uid}", response_model=schema.Webhook, responses=errors(404, 406))
async def update_webhook(admin: Admin, session: Tx, uid: Uid, body: schema.WebhookUpdate) -> JSONResponse:
    """Change one. What happened while it was not enabled it is not told."""
    return JSONResponse(schema.render(await service.change(session, uid, body.model_dump(exclude_none=True), admin)))


@router.delete("/{uid}", responses=errors(404))
async def delete_webhook(admin: Admin, session: Tx, uid: Uid) -> dict[str, Any]:
    """Remove one."""
    await service.remove(session, uid, admin)
    return {}


@router.post("/{uid}/test", responses=errors(404))
async def test_webhook(admin: Admin, console: TheConsole, uid: Uid) -> dict[str, Any]:
    """Send a test message now; 503 `webhook_failed` says what went wrong."""
    await console.notifier.test(uid, admin.username)
    return {}
