"""Drills over HTTP."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.deps import Admin, Tx
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.services import drills as service

router = APIRouter(tags=["nodes"])


class DrillOrder(BaseModel):
    """A fault to rehearse on one node."""

    model_config = ConfigDict(strict=True)

    kind: Literal["reboot", "kill", "freeze", "cut_off", "slow_network", "kill_shard", "freeze_shard"] = Field(
        description="`kill` needs systemd, `cut_off` the right to change routes, `slow_network` that to filter packets; "
        "where that is missing the action says so."
    )
    seconds: float = Field(default=20, ge=1, le=120, strict=False, description="How long the node or shard stays away.")
    shard_uid: str | None = Field(default=None, pattern=r"^\d{1,9}$", description="For the drills of one shard.")
    confirm: str = Field(description='The words "node <uid>", typed by who orders it.')


class DrillReply(BaseModel):
    action_uid: str
    status: str = "queued"


@router.post("/nodes/{uid}/actions/drill", responses=errors(403, 404, 406))
async def drill(admin: Admin, session: Tx, uid: Uid, body: DrillOrder) -> DrillReply:
    """Rehearse an outage; follow the action and the timeline. Needs the policy `drills_enabled`."""
    action = await service.order(
        session,
        uid,
        admin,
        kind=body.kind,
        seconds=body.seconds,
        shard_uid=int(body.shard_uid) if body.shard_uid is not None else None,
        confirm=body.confirm,
    )
    return DrillReply(action_uid=action.uid)
