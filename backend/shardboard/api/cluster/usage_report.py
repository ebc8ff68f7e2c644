"""Endpoint of the usage report."""

from collections import defaultdict
from datetime import UTC, datetime

from fastapi.responses import Response

from shardboard.api.cluster import license  # noqa: A004 - name in the Redis Enterprise REST API
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, ReadSession, Viewer
from shardboard.api.http.error_replies import error_responses
from shardboard.api.metrics.intervals import frame_values, newest_frame
from shardboard.schemas.cluster import usage_report as schema
from shardboard.state.cluster import cluster
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard

router = ApiRouter(prefix="/v1", tags=["cluster"])


@router.get(
    "/usage_report",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}}}, **error_responses()},
)
async def get_usage_report(_viewer: Viewer, session: ReadSession, console: ConsoleDep) -> Response:
    """Return the usage report: one JSON line per database, and the MD5 hash of all lines as the last line."""
    _, frame = newest_frame(console, "bdbs")
    values_by_bdb = (
        {uid: dict(frame_values(frame, index)) for index, uid in enumerate(frame.uids)} if frame is not None else {}
    )
    shards_by_bdb: dict[int, list[Shard]] = defaultdict(list)
    for row in await shards.list_all(session):
        shards_by_bdb[row.bdb_uid].append(row)
    bdb_values = [(bdb, shards_by_bdb[bdb.uid], values_by_bdb.get(bdb.uid, {})) for bdb in await bdbs.list_all(session)]
    report = schema.render(
        await cluster.load(session), await license.render_license(session), bdb_values, datetime.now(UTC)
    )
    return Response(report, media_type="application/x-ndjson")
