"""Endpoint about the loss of nodes and zones (extension)."""

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ReadSession, Viewer
from shardboard.api.http.error_replies import error_responses
from shardboard.schemas.placement import redundancy as schema
from shardboard.services.placement import redundancy as service

router = ApiRouter(prefix="/v1", tags=["cluster"])


@router.get("/cluster/redundancy", responses=error_responses())
async def get_redundancy(_viewer: Viewer, session: ReadSession) -> schema.Redundancy:
    """Return what the loss of each node and each zone would cause now: whether all data stays available, and whether the lost
    shards can be rebuilt on other nodes.

    Copies that are not in sync do not count, and shards are not placed on nodes that are down or in maintenance.
    """
    return schema.render(await service.losses(session))
