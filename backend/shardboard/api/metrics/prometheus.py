"""Prometheus metrics: `/metrics` of the console, and a separate port with the Redis Enterprise paths `/` and `/v2`."""

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from shardboard.api.http import audit_middleware
from shardboard.api.http import error_handlers as failures
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, LoginOrError, ReadSession, check_principal_role, current_login
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.middleware.head_requests import HeadMiddleware
from shardboard.console import Console
from shardboard.queries.metrics.prometheus import expose
from shardboard.schemas.metrics.prometheus import MEDIA_TYPE
from shardboard.services.access.authorization import VIEWERS
from shardboard.state.cluster import cluster

router = ApiRouter(tags=["statistics"])


@router.get("/metrics", response_class=PlainTextResponse, responses=error_responses())
async def get_metrics(session: ReadSession, console: ConsoleDep, login_or_error: LoginOrError) -> PlainTextResponse:
    """Return the metrics of the newest second in the Prometheus text format.

    If the policy `metrics_auth` is on, requires a role other than `none` that is not limited to specific databases.
    """
    if (await cluster.load(session)).rules.metrics_auth:
        login = await current_login(login_or_error)
        check_principal_role(login.principal, VIEWERS)
        login.principal.require_cluster_access()
    raw_nodes, raw_shards = console.live.latest_raw()
    live = console.live
    tiers = live.latest_raw_tiers()
    totals, latencies = live.endpoints.totals, live.endpoints.latencies.totals
    commands = await console.command_count_cache.get_all()
    text = await expose(session, raw_nodes, raw_shards, tiers, totals, latencies, commands)
    return PlainTextResponse(text, media_type=MEDIA_TYPE)


def create_app(console: Console) -> FastAPI:
    """Return the app of the metrics port, which serves only the metrics."""
    app = FastAPI(title="Shardboard metrics", openapi_url=None)
    app.state.console = console
    for path in ("/", "/v2", "/metrics"):
        app.get(path, include_in_schema=False)(get_metrics)
    audit_middleware.install_audit_middleware(app)
    failures.install_error_handlers(app)
    app.add_middleware(HeadMiddleware)
    return app
