"""Endpoint that starts failure drills."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.services.failures import drills as service

router = ApiRouter(prefix="/v1", tags=["nodes"])


class DrillRequest(BaseModel):
    """Fault to inject on a node."""

    model_config = ConfigDict(strict=True)

    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"] = Field(
        description="`kill` requires systemd, `cut_off` the permission to change routes, and `slow_network` the permission to "
        "filter packets. If a requirement is missing, the action fails with that reason."
    )
    seconds: float = Field(default=20, ge=1, le=120, strict=False, description="Duration of the fault in seconds.")
    shard_uid: str | None = Field(
        default=None,
        pattern=r"^\d{1,9}$",
        description="Uid of the shard; required for `kill_shard` and `freeze_shard`.",
    )
    confirm: str = Field(description='Confirmation: the words "node <uid>".')


class QueuedDrill(BaseModel):
    action_uid: str
    status: str = ActionStatus.QUEUED


@router.post("/nodes/{uid}/actions/drill", summary="Start drill", responses=error_responses(403, 404, 406))
async def start_drill(admin: Admin, session: WriteSession, uid: Uid, body: DrillRequest) -> QueuedDrill:
    """Start a failure drill on a node. The action and the timeline show its progress.

    Returns 403 if the policy `drills_enabled` is off. Required role: `admin`.
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
