"""Endpoints that move shards to another node."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import AliasChoices, BaseModel, Field

from shardboard.api.failures.failover import ShardUids, parse_shard_uids
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyEditor, ShardEditor, database_of_shard, require_access_to_each
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.schemas.placement import plans
from shardboard.schemas.placement.plans import AddressChange
from shardboard.services.placement import shard_migration as service
from shardboard.services.placement.endpoint_addresses import EndpointAddressChange, messages_text
from shardboard.state.cluster.actions import Action

router = ApiRouter(prefix="/v1", tags=["shards"])


class MigrationRequest(BaseModel):
    """Body of a migration request, as in the Redis Enterprise REST API."""

    WITHOUT_EFFECT: ClassVar = {"preserve_roles": False}

    target_node_uid: int = Field(
        ge=1,
        le=2**31 - 1,
        validation_alias=AliasChoices("target_node_uid", "target_node"),
        description="Uid of the target node. `target_node` is accepted as another name.",
    )
    override_rack_policy: bool = Field(
        default=False, description="Whether the copies of a pair of a rack-aware database can be in one zone."
    )
    dry_run: bool = False
    preserve_roles: bool = Field(
        default=False, description="Accepted without effect: roles are always kept, so a moved primary stays a primary."
    )


class MultiMigrationRequest(MigrationRequest):
    shard_uids: ShardUids = Field(default=[], max_length=1024, description="Shards of one or more databases.")
    max_concurrent_bdb_migrations: int = Field(
        default=0, ge=0, description="Maximum number of databases to migrate at the same time; 0 = all."
    )


class MigrationReply(BaseModel):
    action_uid: str | None = Field(description="Uid of the action; null in a dry run or if no shard has to move.")
    description: str
    address_changes: list[AddressChange] = Field(description="Addresses that clients have to stop using (extension).")


@router.post("/shards/actions/migrate", summary="Move several shards", responses=error_responses(404, 406, 409))
async def migrate_shards(editor: AnyEditor, session: WriteSession, body: MultiMigrationRequest) -> MigrationReply:
    """Move several shards to a node.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    uids = parse_shard_uids(body.shard_uids)
    await require_access_to_each(session, editor, database_of_shard, uids)
    action, address_changes = await service.schedule(
        session,
        uids,
        body.target_node_uid,
        editor,
        dry_run=body.dry_run,
        override_rack_policy=body.override_rack_policy,
        concurrent_databases=body.max_concurrent_bdb_migrations,
    )
    return _reply(action, address_changes, dry_run=body.dry_run)


@router.post("/shards/{uid}/actions/migrate", summary="Move shard", responses=error_responses(404, 406, 409))
async def migrate_shard(editor: ShardEditor, session: WriteSession, uid: Uid, body: MigrationRequest) -> MigrationReply:
    """Move a shard to a node. The shard is copied; a copy of a primary is promoted; then the old shard is removed.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    action, address_changes = await service.schedule(
        session,
        [uid],
        body.target_node_uid,
        editor,
        dry_run=body.dry_run,
        override_rack_policy=body.override_rack_policy,
    )
    return _reply(action, address_changes, dry_run=body.dry_run)


def _reply(action: Action | None, left: Sequence[EndpointAddressChange], *, dry_run: bool) -> MigrationReply:
    uid, message = (
        (action.uid, action.description) if action is not None else (None, "The shards are on this node already.")
    )
    if dry_run:
        message = "The migration is possible. Nothing was changed (dry run)." + messages_text(left)
    return MigrationReply(action_uid=uid, description=message, address_changes=plans.render_changes(left))
