"""Models of actions on nodes and of placement snapshots, in the formats of the Redis Enterprise REST API."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.schemas.optional_fields import OptionalStr, without_none
from shardboard.schemas.row_protocols import ActionRow
from shardboard.schemas.timestamps import iso

NAMES: dict[str, str] = {
    ActionName.NODE_MAINTENANCE_ON: "maintenance_on",
    ActionName.NODE_MAINTENANCE_OFF: "maintenance_off",
    ActionName.NODE_SWITCH_OVER: "enslave_node",
    ActionName.NODE_REMOVE: "remove_node",
    ActionName.DRILL: "drill",
}
"""Names of the actions on nodes in the Redis Enterprise REST API, by name of their state machine."""
STATE_MACHINES = {name: machine for machine, name in NAMES.items()} | {"remove": ActionName.NODE_REMOVE}


class Queued(BaseModel):
    status: str = ActionStatus.QUEUED
    task_id: str = Field(description="Same as `action_uid`.")
    action_uid: str = Field(description="Uid of the action. Poll `/v2/actions/<action_uid>` for its progress.")


class NodeAction(BaseModel):
    name: str
    node_uid: str
    status: str = Field(json_schema_extra={"enum": list(ActionStatus)})
    progress: float = Field(description="0-100")
    task_id: str
    error: OptionalStr


class NodeActions(BaseModel):
    actions: list[NodeAction]


class Snapshot(BaseModel):
    name: str
    node_uid: str
    created_time: str
    kind: str = Field(json_schema_extra={"enum": ["maintenance", "user"]})
    shards: int = Field(description="Number of the node's shards in the snapshot.")


class SnapshotRow(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def node_uid(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def placement(self) -> Sequence[Mapping[str, Any]]: ...


def render_queued(action: ActionRow) -> Queued:
    return Queued(task_id=action.uid, action_uid=action.uid)


def render(action: ActionRow) -> dict[str, Any]:
    return {
        "name": NAMES[action.name],
        "node_uid": str(action.object_uid),
        "status": action.status,
        "progress": float(action.progress),
        "task_id": action.uid,
        **without_none(error=action.error or None),
    }


def render_snapshot(snapshot: SnapshotRow) -> dict[str, Any]:
    return {
        "name": snapshot.name,
        "node_uid": str(snapshot.node_uid),
        "created_time": iso(snapshot.created_at),
        "kind": snapshot.kind,
        "shards": sum(each["node"] == snapshot.node_uid for each in snapshot.placement),
    }
