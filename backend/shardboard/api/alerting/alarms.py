"""Endpoints of the acknowledgement of alarms. `GET /v1/cluster/health` returns the active alarms."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyEditor
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.schemas.alerting import alarms as schema
from shardboard.schemas.alerting import events
from shardboard.services.alerting import acknowledgements as service

router = ApiRouter(prefix="/v1/alarms", tags=["log"])


@router.post("/{uid}/acknowledgement", response_model=events.Event, responses=error_responses(404, 406, 409))
async def acknowledge_alarm(
    editor: AnyEditor, session: WriteSession, uid: Uid, body: schema.NewAcknowledgement
) -> JSONResponse:
    """Acknowledge an active alarm (extension), or replace its acknowledgement. It ends when the alarm ends or after `minutes`. When
    it expires, receivers get the alarm again.

    `uid` is the uid of the alarm's event. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    alarm = await service.acknowledge(session, uid, editor, **body.model_dump())
    return JSONResponse(events.render(alarm))


@router.delete("/{uid}/acknowledgement", response_model=events.Event, responses=error_responses(404, 409))
async def withdraw_acknowledgement(editor: AnyEditor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Remove the acknowledgement and the assignment of an active alarm (extension).

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return JSONResponse(events.render(await service.withdraw(session, uid, editor)))
