"""Endpoints that request failovers of shards."""

from pydantic import BaseModel, Field, StrictInt

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyEditor, ShardEditor, database_of_shard, require_access_to_each
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.services.failures import failover as service
from shardboard.state.cluster.actions import Action

router = ApiRouter(prefix="/v1", tags=["shards"])


ShardUids = list[str | StrictInt]
"""Text in the Redis Enterprise REST API; some clients send numbers."""


class FailoverRequest(BaseModel):
    """Body of a failover request. `force` is an extension of the Redis Enterprise REST API."""

    dry_run: bool = False
    force: bool = Field(
        default=False,
        description="Promote the replica without waiting for the primary. Writes that were not replicated are lost.",
    )


class MultiFailoverRequest(FailoverRequest):
    shard_uids: ShardUids = Field(default=[], max_length=1024, description="Primaries of one database.")


class FailoverReply(BaseModel):
    action_uid: str | None
    description: str


@router.post(
    "/shards/actions/failover", summary="Switch over several shards", responses=error_responses(400, 404, 406, 409)
)
async def fail_over_shards(editor: AnyEditor, session: WriteSession, body: MultiFailoverRequest) -> FailoverReply:
    """Switch several primaries of one database over to their replicas.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    uids = parse_shard_uids(body.shard_uids)
    await require_access_to_each(session, editor, database_of_shard, uids)
    return _reply(await service.schedule(session, uids, editor, force=body.force, dry_run=body.dry_run))


@router.post(
    "/shards/{uid}/actions/failover", summary="Switch over shard", responses=error_responses(400, 404, 406, 409)
)
async def fail_over_shard(
    editor: ShardEditor, session: WriteSession, uid: Uid, body: FailoverRequest | None = None
) -> FailoverReply:
    """Switch a primary over to its replica.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    failover_request = body or FailoverRequest()
    return _reply(
        await service.schedule(session, [uid], editor, force=failover_request.force, dry_run=failover_request.dry_run)
    )


def parse_shard_uids(uids: ShardUids) -> list[int]:
    """Return the uids as numbers. A text that cannot be a uid becomes 0, the uid of no shard."""
    shard_uids = [str(uid) for uid in uids]
    return [int(uid) if uid.isascii() and uid.isdigit() and len(uid) < 10 else 0 for uid in shard_uids]


def _reply(action: Action | None) -> FailoverReply:
    if action is None:
        return FailoverReply(action_uid=None, description="The failover is possible. Nothing was changed (dry run).")
    return FailoverReply(action_uid=action.uid, description=action.description)
