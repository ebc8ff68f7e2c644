"""Endpoints of proxies. Each node has one proxy, which serves all databases with an endpoint on the node."""

from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.errors import NotFound
from shardboard.schemas.databases import proxies as schema
from shardboard.services.databases import proxies as service
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs

router = ApiRouter(prefix="/v1", tags=["endpoints"])


ProxyList = Annotated[ListQuery, Depends(list_query_of(schema.Proxy))]


@router.get("/proxies", response_model=list[schema.Proxy], responses=error_responses())
async def list_proxies(_viewer: AnyViewer, session: ReadSession, console: ConsoleDep, query: ProxyList) -> JSONResponse:
    """Return the proxies of all nodes."""
    readings = console.live.endpoints.newest()
    return query.reply([schema.render(node, readings.get(node.uid)) for node in await nodes.list_all(session)])


@router.get("/proxies/{uid}", response_model=schema.Proxy, responses=error_responses(404))
async def get_proxy(_viewer: AnyViewer, session: ReadSession, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the proxy of a node."""
    return JSONResponse(schema.render(await _find(session, uid), console.live.endpoints.newest().get(uid)))


@router.put("/proxies", response_model=list[schema.Proxy], responses=error_responses(406))
async def update_proxies(
    principal: UserManager, session: WriteSession, console: ConsoleDep, body: schema.ProxyChange
) -> JSONResponse:
    """Change the settings of all proxies. Required role: `admin` or `user_manager`."""
    machines = await nodes.list_all(session)
    await service.change_threads(session, machines, body.proxy, principal)
    readings = console.live.endpoints.newest()
    return JSONResponse([schema.render(node, readings.get(node.uid)) for node in machines])


@router.put("/proxies/{uid}", response_model=schema.Proxy, responses=error_responses(404, 406))
async def update_proxy(
    principal: UserManager, session: WriteSession, console: ConsoleDep, uid: Uid, body: schema.ProxyChange
) -> JSONResponse:
    """Change the number of threads of a proxy. Existing connections stay open. Required role: `admin` or `user_manager`."""
    node = await _find(session, uid)
    await service.change_threads(session, [node], body.proxy, principal)
    return JSONResponse(schema.render(node, console.live.endpoints.newest().get(uid)))


@router.get("/bdbs/{uid}/endpoint", response_model=schema.EndpointState, responses=error_responses(404))
async def get_endpoint(_viewer: BdbViewer, session: ReadSession, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the endpoint of a database and the state of the proxies that serve it."""
    bdb = await bdbs.by_uid(session, uid)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return JSONResponse(schema.render_endpoint(bdb, await nodes.list_all(session), console.live.endpoints.newest()))


async def _find(session: ReadSession, uid: int) -> Node:
    node = await nodes.by_uid(session, uid)
    if node is None:
        raise NotFound("proxy_not_found", f"Proxy {uid} does not exist. A proxy has the uid of its node.")
    return node
