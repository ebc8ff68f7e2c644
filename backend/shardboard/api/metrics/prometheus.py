"""Prometheus metrics: `/metrics` of the console, and a separate port with the paths of Redis Enterprise.

The separate port serves version 1 names at `/` and `/metrics`, and version 2 names at `/v2` and `/v2/node`.
"""

import asyncio
import gzip
from typing import Annotated

from fastapi import FastAPI, Query, Request
from fastapi.responses import PlainTextResponse, Response
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http import audit_middleware
from shardboard.api.http import error_handlers as failures
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, LoginOrError, ReadSession, check_principal_role, current_login
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.middleware.head_requests import HeadMiddleware
from shardboard.api.metrics import recent_values
from shardboard.api.metrics.scrape_limit import ScrapeLimit
from shardboard.console import Console
from shardboard.errors import NotFound
from shardboard.queries.metrics import prometheus, prometheus_v1
from shardboard.schemas.metrics.prometheus import MEDIA_TYPE
from shardboard.services.access.authorization import VIEWERS
from shardboard.state.cluster import cluster, nodes

router = ApiRouter(tags=["statistics"])


@router.get("/metrics", response_class=PlainTextResponse, responses=error_responses())
async def get_metrics(
    request: Request, session: ReadSession, console: ConsoleDep, login_or_error: LoginOrError, _limit: ScrapeLimit
) -> Response:
    """Return the metrics of the newest second in the Prometheus text format, with version 2 names.

    If the policy `metrics_auth` is on, requires a role other than `none` that is not limited to specific databases.
    """
    await _authorize(session, login_or_error)
    return await _reply(request, await _version_2(session, console))


async def get_version_1(
    request: Request, session: ReadSession, console: ConsoleDep, login_or_error: LoginOrError, _limit: ScrapeLimit
) -> Response:
    """Return the metrics of the last seconds with version 1 names."""
    await _authorize(session, login_or_error)
    return await _reply(request, await prometheus_v1.expose(session, recent_values.collect(console)))


async def get_node_metrics(
    request: Request,
    session: ReadSession,
    console: ConsoleDep,
    login_or_error: LoginOrError,
    _limit: ScrapeLimit,
    uid: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """Return the metrics of one node with version 2 names, without the labels `cluster` and `node`.

    Without `uid`, this is the node with the address at which the request arrived.
    """
    await _authorize(session, login_or_error)
    host = (request.scope.get("server") or ("",))[0]
    machines = await nodes.list_all(session)
    found = [node.uid for node in machines if node.uid == uid or (uid is None and node.addr == host)]
    if uid is None and len(machines) == 1:
        found = [machines[0].uid]
    if len(found) != 1:
        known = ", ".join(str(node.uid) for node in machines) or "none"
        problem = f"Node {uid} does not exist." if uid is not None else f"No single node has the address {host!r}."
        raise NotFound("node_not_found", f"{problem} Select a node with the parameter uid. Nodes: {known}.")
    return await _reply(request, await _version_2(session, console, found[0]))


async def _authorize(session: AsyncSession, login_or_error: LoginOrError) -> None:
    if (await cluster.load(session)).rules.metrics_auth:
        login = await current_login(login_or_error)
        check_principal_role(login.principal, VIEWERS)
        login.principal.require_cluster_access()


async def _version_2(session: AsyncSession, console: Console, node_uid: int | None = None) -> str:
    live = console.live
    raw_nodes, raw_shards = live.latest_raw()
    tiers, totals, latencies = live.latest_raw_tiers(), live.endpoints.totals, live.endpoints.latencies.totals
    commands = await console.command_count_cache.get_all()
    return await prometheus.expose(session, raw_nodes, raw_shards, tiers, totals, latencies, commands, node_uid)


async def _reply(request: Request, text: str) -> Response:
    """Return the metrics, compressed if the client accepts it."""
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return PlainTextResponse(text, media_type=MEDIA_TYPE, headers={"vary": "Accept-Encoding"})
    body = await asyncio.to_thread(gzip.compress, text.encode(), 1)
    headers = {"vary": "Accept-Encoding", "content-encoding": "gzip"}
    return Response(body, media_type=MEDIA_TYPE, headers=headers)


def create_app(console: Console) -> FastAPI:
    """Return the app of the metrics port, which serves only the metrics."""
    app = FastAPI(title="Shardboard metrics", openapi_url=None)
    app.state.console = console
    for path in ("/", "/metrics"):
        app.get(path, include_in_schema=False)(get_version_1)
    app.get("/v2", include_in_schema=False)(get_metrics)
    app.get("/v2/node", include_in_schema=False)(get_node_metrics)
    audit_middleware.install_audit_middleware(app)
    failures.install_error_handlers(app)
    app.add_middleware(HeadMiddleware)
    return app
