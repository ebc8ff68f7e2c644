"""Endpoint of the RAM curve, which estimates the effect of another RAM size of a database on flash."""

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.errors import NotAcceptable, NotFound
from shardboard.queries.benchmarks import cost_model
from shardboard.schemas.metrics import ram_curve as schema
from shardboard.state.cluster import cluster
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["databases"])


@router.get("/bdbs/{uid}/ram_curve", response_model=schema.RamCurve, responses=error_responses(404, 406))
async def get_ram_curve(_viewer: BdbViewer, session: ReadSession, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the expected RAM hit ratio of a database on flash by the size of its RAM.

    The estimate is based on the accesses to a few thousand sampled keys of each primary, and on the assumption that the most
    recently used values are in RAM. The request polls the primaries, at most once every five seconds. Returns 406 if the database
    is not on flash.
    """
    bdb = await bdbs.by_uid(session, uid)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    curve = await console.ram_curve_cache.get(uid)
    if curve is None:
        raise NotAcceptable("not_supported", f"Database {bdb.name} is not on flash. All its values are in RAM.")
    measured = console.live.latest("flash", str(uid)).get("ram_hit_ratio")
    node, prices = await cost_model.node_size(session), (await cluster.load(session)).prices
    return JSONResponse(schema.render(bdb, curve, measured, prices, node))
