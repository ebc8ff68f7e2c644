"""Prometheus metrics: `/metrics` of the console, and a separate port with the Redis Enterprise paths `/` and `/v2`."""

from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse

from shardboard.api import audited
from shardboard.api import errors as failures
from shardboard.api.deps import Evidence, Reader, TheConsole, current_login, insist_on_role
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.queries.exposition import expose
from shardboard.schemas.exposition import MEDIA_TYPE
from shardboard.services.users import VIEWERS
from shardboard.state import cluster

router = APIRouter(tags=["statistics"])


@router.get("/metrics", response_class=PlainTextResponse, responses=errors())
async def get_metrics(session: Reader, console: TheConsole, proof: Evidence) -> PlainTextResponse:
    """Return the metrics of the newest second in the Prometheus text format.

    If the policy `metrics_auth` is on, requires any role except `none` that is not limited to some databases.
    """
    if (await cluster.load(session)).rules.metrics_auth:
        login = await current_login(proof)
        insist_on_role(login.principal, VIEWERS)
        login.principal.insist_on_reaching_all()
    raw_nodes, raw_shards = console.live.raw()
    live = console.live
    tiers = live.raw_tiers()
    totals, latencies = live.endpoints.totals, live.endpoints.latencies.totals
    commands = await console.command_looks.look_at_all()
    text = await expose(session, raw_nodes, raw_shards, tiers, totals, latencies, commands)
    return PlainTextResponse(text, media_type=MEDIA_TYPE)


def create_app(console: Console) -> FastAPI:
    """Return the app of the metrics port, which serves only the metrics."""
    app = FastAPI(title="Shardboard metrics", openapi_url=None)
    app.state.console = console
    for path in ("/", "/v2", "/metrics"):
        app.get(path, include_in_schema=False)(get_metrics)
    audited.install(app)
    failures.install(app)
    return app
