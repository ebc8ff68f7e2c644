"""Endpoint that starts failure drills."""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.contract import MAX_DRILL_SECONDS
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.domain.placement import zones
from shardboard.services.failures import drills as service

router = ApiRouter(prefix="/v1", tags=["nodes"])

RackId = Annotated[str, Path(pattern=zones.RACK_ID_IN_USE, max_length=zones.MAX_RACK_ID, description="Zone of nodes.")]


class DrillRequest(BaseModel):
    """Fault to inject on a node."""

    model_config = ConfigDict(strict=True)

    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"] = Field(
        description="`kill` requires systemd, `cut_off` the permission to change routes, and `slow_network` the permission to "
        "filter packets. If a requirement is missing, the action fails with that reason."
    )
    seconds: float = Field(
        default=20, ge=1, le=MAX_DRILL_SECONDS, strict=False, description="Duration of the fault in seconds."
    )
    shard_uid: str | None = Field(
        default=None,
        pattern=r"^\d{1,9}$",
        description="Uid of the shard; required for `kill_shard` and `freeze_shard`.",
    )
    confirm: str = Field(description='Confirmation: the words "node <uid>".')


class ZoneDrillRequest(BaseModel):
    """Fault to inject on all nodes of a zone at the same time."""

    model_config = ConfigDict(strict=True)

    kind: Literal["reboot", "kill", "freeze", "cut_off"] = Field(
        description="`kill` requires systemd, and `cut_off` the permission to change routes. Nodes that are cut off "
        "together reach each other."
    )
    seconds: float = Field(
        default=20, ge=1, le=MAX_DRILL_SECONDS, strict=False, description="Duration of the fault in seconds."
    )
    confirm: str = Field(description='Confirmation: the words "zone <rack_id>".')


class QueuedZoneDrill(BaseModel):
    action_uids: list[str] = Field(description="One action for each node.")
    status: str = ActionStatus.QUEUED


class QueuedDrill(BaseModel):
    action_uid: str
    status: str = ActionStatus.QUEUED


@router.post("/nodes/{uid}/actions/drill", summary="Start drill", responses=error_responses(403, 404, 406, 409))
async def start_drill(admin: Admin, session: WriteSession, uid: Uid, body: DrillRequest) -> QueuedDrill:
    """Start a failure drill on a node. The action and the timeline show its progress. `DELETE /v1/actions/{action_uid}` ends it
    early: the fault is removed at once.

    Returns 403 if the policy `drills_enabled` is off, and 409 if a drill is running on the node. Required role: `admin`.
    """
    action = await service.schedule(
        session,
        uid,
        admin,
        kind=body.kind,
        seconds=body.seconds,
        shard_uid=int(body.shard_uid) if body.shard_uid is not None else None,
        confirm=body.confirm,
    )
    return QueuedDrill(action_uid=action.uid)


@router.post(
    "/zones/{rack_id}/actions/drill", summary="Start drill of a zone", responses=error_responses(403, 404, 406, 409)
)
async def start_zone_drill(
    admin: Admin, session: WriteSession, rack_id: RackId, body: ZoneDrillRequest
) -> QueuedZoneDrill:
    """Start a failure drill on all nodes of a zone at the same time (extension). Incident reports of the nodes show the
    loss of the zone.

    Returns 403 if the policy `drills_enabled` is off, and 409 if a drill is running on one of the nodes. Required role:
    `admin`.
    """
    actions = await service.schedule_for_zone(
        session, rack_id, admin, kind=body.kind, seconds=body.seconds, confirm=body.confirm
    )
    return QueuedZoneDrill(action_uids=[action.uid for action in actions])
