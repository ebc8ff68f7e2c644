"""Actions in the two shapes of the REST reference (1.6): v1 mostly strings, v2 with proper types."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.schemas.absent import OptionalInt, OptionalStr, present, without_default
from shardboard.schemas.rows import ActionRow
from shardboard.schemas.times import epoch

_V1_STATUSES = {"queued": "pending", "running": "active"}


class Step(BaseModel):
    name: str
    status: str = Field(json_schema_extra={"enum": ["pending", "running", "completed", "failed", "cancelled"]})
    detail: OptionalStr = Field(description="What it is doing or waiting for.")


MOVES_SHOWN = 60
"""As many as a person still tells apart in a picture; an action of hundreds is told of again at each of their steps."""


class Move(BaseModel):
    """A change of where one copy of a pair is. It is over once the shard that leaves is gone."""

    bdb_uid: int
    pair: int
    shard_uid: OptionalStr = Field(description="The shard that leaves; absent when only a copy is added.")
    newcomer_uid: OptionalStr = Field(description="The shard that comes in its place; absent when none does.")
    to_node_uid: OptionalInt = Field(description="The node of the newcomer.")


class AdditionalInfo(BaseModel):
    description: str
    object_type: str
    object_uid: int
    error: OptionalStr
    steps: list[Step]
    eta_seconds: OptionalInt = Field(description="How long the copies under way still take, as far as known.")
    moves: Annotated[list[Move] | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """Shards that still have to move, while there are no more than 60 of them."""
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
                moves=_moves(action),
            ),
        },
        **present(finish_time=epoch(action.finished_at) if action.finished_at else None),
    }


def _moves(action: ActionRow) -> list[dict[str, Any]] | None:
    """None when no shard moves, or too many do."""
    if action.finished_at is not None:
        return None
    params = action.params
    over = {*params.get("done", ()), *(int(number) for number in params.get("failed", {}))}
    left = [
        move
        for number, move in enumerate(params.get("moves", ()))
        if number not in over and (move.get("leaves"), move.get("newcomer")) != (None, None)
    ]
    if not 0 < len(left) <= MOVES_SHOWN:
        return None
    return [
        {
            "bdb_uid": move["bdb"],
            "pair": move["pair"],
            **present(
                shard_uid=_text(move.get("leaves")),
                newcomer_uid=_text(move.get("newcomer")),
                to_node_uid=move.get("to"),
            ),
        }
        for move in left
    ]


def _text(uid: int | None) -> str | None:
    return None if uid is None else str(uid)


def _is_timed(action: ActionRow) -> bool:
    return action.finished_at is None and action.params.get("eta_seconds") is not None
