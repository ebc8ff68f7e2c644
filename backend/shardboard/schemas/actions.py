"""Actions in the two shapes of the REST reference (1.6): v1 mostly strings, v2 with proper types."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.absent import OptionalInt, OptionalStr, present
from shardboard.schemas.rows import ActionRow
from shardboard.schemas.times import epoch

_V1_STATUSES = {"queued": "pending", "running": "active"}


class Step(BaseModel):
    name: str
    status: str = Field(json_schema_extra={"enum": ["pending", "running", "completed", "failed", "cancelled"]})
    detail: OptionalStr = Field(description="What it is doing or waiting for.")


class AdditionalInfo(BaseModel):
    description: str
    object_type: str
    object_uid: int
    error: OptionalStr
    steps: list[Step]
    eta_seconds: OptionalInt = Field(description="How long the copies under way still take, as far as known.")
    cancellable: bool = Field(description="Whether DELETE /v1/actions/<action_uid> can end it now.")


class Action(BaseModel):
    """An action as /v2 and the stream show it."""

    action_uid: str
    action_type: str = Field(json_schema_extra={"enum": ["task", "state-machine", "other"]})
    name: str
    status: str = Field(json_schema_extra={"enum": ["queued", "running", "completed", "failed", "cancelled"]})
    progress: float = Field(description="0-100")
    creation_time: int = Field(description="Epoch seconds.")
    finish_time: OptionalInt
    originator: str
    additional_info: AdditionalInfo


class StateMachine(BaseModel):
    """An action as /v1 shows it."""

    model_config = ConfigDict(extra="allow")

    action_uid: str
    name: str
    object_name: str = Field(description='"bdb:<uid>"')
    status: str = Field(json_schema_extra={"enum": ["pending", "active", "completed", "failed", "cancelled"]})
    state: str
    heartbeat: int = Field(description="Epoch seconds.")
    progress: str = Field(description="0-100, as text.")
    creation_time: str = Field(description="Epoch seconds, as text.")
    error: OptionalStr


class Actions(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    actions: list[dict[str, Any]] = Field(description="Tasks; this console has none yet.")
    state_machines: list[StateMachine] = Field(alias="state-machines")


def render_v1(action: ActionRow, now: datetime) -> dict[str, Any]:
    """A state machine of /v1. Progress is text there: clients fail on a number."""
    return {
        "action_uid": action.uid,
        "name": action.name,
        "object_name": f"{action.object_type}:{action.object_uid}",
        "status": _V1_STATUSES.get(action.status, action.status),
        "state": next((step["name"] for step in action.steps if step["status"] == "running"), action.status),
        "heartbeat": epoch(action.finished_at or now),
        "progress": str(round(action.progress)),
        "creation_time": str(epoch(action.created_at)),
        "pending_ops": {},
        **present(error=action.error or None),
    }


def render_v1_list(actions: Iterable[ActionRow], now: datetime) -> dict[str, Any]:
    return {"actions": [], "state-machines": [render_v1(action, now) for action in actions]}


def render_v2(action: ActionRow) -> dict[str, Any]:
    """An action of /v2, with our steps."""
    return {
        "action_uid": action.uid,
        "action_type": "state-machine",
        "name": action.name,
        "status": action.status,
        "progress": float(action.progress),
        "creation_time": epoch(action.created_at),
        "originator": action.originator,
        "additional_info": {
            "description": action.description,
            "object_type": action.object_type,
            "object_uid": action.object_uid,
            "steps": list(action.steps),
            "cancellable": action.cancellable,
            **present(
                error=action.error or None,
                eta_seconds=round(action.params["eta_seconds"]) if _is_timed(action) else None,
            ),
        },
        **present(finish_time=epoch(action.finished_at) if action.finished_at else None),
    }


def _is_timed(action: ActionRow) -> bool:
    return action.finished_at is None and action.params.get("eta_seconds") is not None
