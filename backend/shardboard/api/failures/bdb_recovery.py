"""Endpoints that recover a database whose shards are down."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbViewer
from shardboard.api.http.dependencies import Admin, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.errors import NotAcceptable
from shardboard.services.failures import bdb_recovery as service

router = ApiRouter(prefix="/v1", tags=["databases"])


class RecoveryFile(BaseModel):
    """The persistence files of a shard that is down."""

    KNOWN_FIELDS: ClassVar = ("last_modified", "size")

    filename: str = Field(
        default="", description="Path in the state directory of the agent. Empty if the database has no persistence."
    )
    node_uid: str
    shard_slots: str
    shard_role: str = ""
    shard_uid: str = ""


class RecoveryState(BaseModel):
    data_files: list[RecoveryFile] = Field(
        description="Files from which the shards would start, one per replication pair."
    )
    status: str = Field(
        description="`missing-files`: the database has no persistence, or an agent does not respond or does not have the shard.",
        json_schema_extra={"enum": list(service.RecoveryStatus)},
    )


class RecoveryRequest(BaseModel):
    """Body of a recovery request. All fields can be omitted."""

    model_config = ConfigDict(strict=True)

    data_files: list[RecoveryFile] = Field(
        default=[], max_length=1024, description="The files of the recovery plan. Other files cannot be used."
    )
    ignore_errors: bool = Field(default=False, description="Must be false: damaged files are never ignored.")
    recover_without_data: bool = Field(default=False, description="Start the shards empty. All their keys are lost.")


class RecoveryReply(BaseModel):
    action_uid: str
    description: str


@router.get("/bdbs/{uid}/actions/recover", summary="Get recovery plan", responses=error_responses(404))
async def get_recovery_plan(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> RecoveryState:
    """Return whether shards that are down can be restarted from their persistence files, and from which."""
    bdb = await get_bdb_or_404(session, uid)
    plan = await service.plan(session, bdb)
    kind = {"aof": "appendonlydir", "snapshot": "dump.rdb"}.get(bdb.config["data_persistence"])
    return RecoveryState(
        data_files=[
            RecoveryFile(
                filename=f"shards/{shard.uid}/{kind}" if kind else "",
                node_uid=str(shard.node_uid),
                shard_slots=shard.slots,
                shard_role=shard.current_role,
                shard_uid=str(shard.uid),
            )
            for shard in plan.dead
        ],
        status=plan.status,
    )


@router.post(
    "/bdbs/{uid}/actions/recover", summary="Recover database", responses=error_responses(400, 403, 404, 406, 409)
)
async def recover_bdb(
    admin: Admin, session: WriteSession, uid: Uid, body: RecoveryRequest | None = None
) -> RecoveryReply:
    """Restart all shards that are down and have no running copy, from their persistence files. Returns 409 `not_recoverable` if
    there is none. Required role: `admin`.
    """
    request = body or RecoveryRequest()
    if request.ignore_errors:
        raise NotAcceptable(
            "not_supported", "Damaged files are never ignored. Send `ignore_errors` false.", field="ignore_errors"
        )
    if request.data_files:
        planned = {
            (each.node_uid, each.shard_slots) for each in (await get_recovery_plan(admin, session, uid)).data_files
        }
        if {(each.node_uid, each.shard_slots) for each in request.data_files} != planned:
            message = "Shards start from their own files only. Send the `data_files` of the recovery plan, or none."
            raise NotAcceptable("not_supported", message, field="data_files")
    action = await service.schedule(session, uid, admin, without_data=request.recover_without_data)
    return RecoveryReply(action_uid=action.uid, description=action.description)
