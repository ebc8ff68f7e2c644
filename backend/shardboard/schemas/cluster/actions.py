"""Actions in the two formats of the Redis Enterprise REST API: v1 (mostly strings) and v2 (typed)."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.cluster.actions import ActionStatus, StepStatus, current_name
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.row_protocols import ActionRow
from shardboard.schemas.timestamps import epoch


class StateMachineStatus(StrEnum):
    """Status in the format of /v1."""

    PENDING = "pending"
    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


_V1_STATUSES: dict[str, str] = {
    ActionStatus.QUEUED: StateMachineStatus.PENDING,
    ActionStatus.RUNNING: StateMachineStatus.ACTIVE,
}


class Step(BaseModel):
    name: str
    status: str = Field(json_schema_extra={"enum": list(StepStatus)})
    detail: OptionalStr = Field(description="Current activity of the step, or the condition that it waits for.")


MAX_MOVES = 60
"""Maximum number of moves in a reply. The web UI cannot show more, and an action is sent again at each step of a move."""


class Move(BaseModel):
    """A planned move of one shard of a replication pair. It is complete when the old shard is removed."""

    bdb_uid: int
    pair: int
    shard_uid: OptionalStr = Field(description="Shard that is removed; missing if a copy is only added.")
    newcomer_uid: OptionalStr = Field(description="Shard that replaces it; missing if there is none.")
    to_node_uid: OptionalInt = Field(description="Node of the new shard.")


class AdditionalInfo(BaseModel):
    description: str
    object_type: str
    object_uid: int
    error: OptionalStr
    steps: list[Step]
    eta_seconds: OptionalInt = Field(description="Estimated remaining time of the running copies in seconds, if known.")
    moves: Annotated[list[Move] | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """Moves that are not complete yet, if there are at most 60."""
    cancellable: bool = Field(description="Whether `DELETE /v1/actions/<action_uid>` can cancel the action now.")


class Action(BaseModel):
    """An action in the format of /v2 and the event stream."""

    action_uid: str
    action_type: str = Field(json_schema_extra={"enum": ["task", "state-machine", "other"]})
    name: str
    status: str = Field(json_schema_extra={"enum": list(ActionStatus)})
    progress: float = Field(description="0-100")
    creation_time: int = Field(description="Epoch seconds.")
    finish_time: OptionalInt
    originator: str
    additional_info: AdditionalInfo


class StateMachine(BaseModel):
    """An action in the format of /v1."""

    model_config = ConfigDict(extra="allow")

    action_uid: str
    name: str
    object_name: str = Field(description='"bdb:<uid>"')
    status: str = Field(json_schema_extra={"enum": list(StateMachineStatus)})
    state: str
    heartbeat: int = Field(description="Epoch seconds.")
    progress: str = Field(description="0-100, as text.")
    creation_time: str = Field(description="Epoch seconds, as text.")
    error: OptionalStr


class Actions(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    actions: list[dict[str, Any]] = Field(description="Always empty: Shardboard has no tasks.")
    state_machines: list[StateMachine] = Field(alias="state-machines")


def render_v1(action: ActionRow, now: datetime) -> dict[str, Any]:
    """Return an action as a state machine of /v1. `progress` is text, because clients reject a number."""
    return {
        "action_uid": action.uid,
        "name": current_name(action.name),
        "object_name": f"{action.object_type}:{action.object_uid}",
        "status": _V1_STATUSES.get(action.status, action.status),
        "state": next((step["name"] for step in action.steps if step["status"] == StepStatus.RUNNING), action.status),
        "heartbeat": epoch(action.finished_at or now),
        "progress": str(round(action.progress)),
        "creation_time": str(epoch(action.created_at)),
        "pending_ops": {},
        **without_none(error=action.error or None),
    }


def render_v1_list(actions: Iterable[ActionRow], now: datetime) -> dict[str, Any]:
    return {"actions": [], "state-machines": [render_v1(action, now) for action in actions]}


def render_v2(action: ActionRow) -> dict[str, Any]:
    """Return an action in the format of /v2, with its steps."""
    return {
        "action_uid": action.uid,
        "action_type": "state-machine",
        "name": current_name(action.name),
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
            **without_none(
                error=action.error or None,
                eta_seconds=None if action.eta_seconds is None else round(action.eta_seconds),
                moves=_moves(action),
            ),
        },
        **without_none(finish_time=epoch(action.finished_at) if action.finished_at else None),
    }


def _moves(action: ActionRow) -> list[dict[str, Any]] | None:
    """Return the remaining moves; None if no shard moves or too many do."""
    open_moves = [move for move in action.remaining_moves if (move.removed, move.new_shard) != (None, None)]
    if not 0 < len(open_moves) <= MAX_MOVES:
        return None
    return [
        {
            "bdb_uid": move.bdb,
            "pair": move.pair,
            **without_none(
                shard_uid=_text(move.removed),
                newcomer_uid=_text(move.new_shard),
                to_node_uid=move.to,
            ),
        }
        for move in open_moves
    ]


def _text(uid: int | None) -> str | None:
    return None if uid is None else str(uid)
