"""Endpoints of webhooks, which receive alarms and events."""

from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http import audit_middleware
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.schemas.alerting import webhooks as schema
from shardboard.services.alerting import webhooks as service
from shardboard.state.alerting import webhooks

router = ApiRouter(prefix="/v1/webhooks", tags=["webhooks"])


WebhookList = Annotated[ListQuery, Depends(list_query_of(schema.Webhook))]


@router.get("", response_model=list[schema.Webhook], responses=error_responses())
async def list_webhooks(_admin: Admin, session: ReadSession, query: WebhookList) -> JSONResponse:
    """Return all webhooks, without their secrets. Required role: `admin`."""
    rows = await webhooks.list_all(session)
    if rows:
        audit_middleware.record_secret_access("The response contained the addresses of webhooks.")
    return query.reply([schema.render(row) for row in rows])


@router.post("", response_model=schema.Webhook, responses=error_responses(406, 409))
async def create_webhook(admin: Admin, session: WriteSession, body: schema.NewWebhook) -> JSONResponse:
    """Add a webhook. It receives new events in order and at least once. For alarms, it also receives the end.

    Required role: `admin`.
    """
    return JSONResponse(schema.render(await service.create(session, body.model_dump(), admin)))


@router.get("/{uid}", response_model=schema.Webhook, responses=error_responses(404))
async def get_webhook(_admin: Admin, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return a webhook without its secret. Required role: `admin`."""
    row = await service.get_webhook(session, uid)
    audit_middleware.record_secret_access("The response contained the address of a webhook.")
    return JSONResponse(schema.render(row))


@router.put("/{uid}", response_model=schema.Webhook, responses=error_responses(404, 406))
async def update_webhook(admin: Admin, session: WriteSession, uid: Uid, body: schema.WebhookUpdate) -> JSONResponse:
    """Change a webhook. Events that occurred while it was disabled are not sent. Required role: `admin`."""
    return JSONResponse(schema.render(await service.change(session, uid, body.model_dump(exclude_none=True), admin)))


@router.delete("/{uid}", responses=error_responses(404))
async def delete_webhook(admin: Admin, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete a webhook. Required role: `admin`."""
    await service.remove(session, uid, admin)
    return {}


@router.post("/{uid}/test", responses=error_responses(404))
async def test_webhook(admin: Admin, console: ConsoleDep, uid: Uid) -> dict[str, Any]:
    """Send a test message. Returns 503 `webhook_failed` with the reason if it fails. Required role: `admin`."""
    await console.notifier.send_test(uid, admin.username)
    return {}
