"""Order of the routes: a literal segment of a path takes precedence over a parameter.

Starlette uses the first route that matches, so `/v1/bdbs/alerts` has to precede `/v1/bdbs/{uid}`. The routes of all areas are
sorted once, so that the order of areas, modules and handlers is irrelevant.

Typed parameters such as `{uid:int}` cannot replace this order, because some parameters are text (`/v1/endpoints/stats/{uid}`,
`/v1/bdbs/{uid}/{action}`). They would also change replies: `/v1/bdbs/x` would get the 404 of an unknown path without a check of
the credentials, instead of the 404 with the `field` `uid`.
"""

from collections.abc import Iterable

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute


def merge_routers(routers: Iterable[APIRouter]) -> APIRouter:
    """Return a router with the routes of all `routers`, in order of precedence.

    Raises TypeError for a router that includes other routers, because their routes do not have their complete paths.
    """
    return APIRouter(routes=sorted((route for router in routers for route in router.routes), key=_precedence))


def _precedence(route: BaseRoute) -> tuple[list[tuple[bool, str]], list[str]]:
    """Return the sort key of a route. At the first segment in which two matching paths differ, the literal comes first.

    Names of parameters are ignored. Paths that differ in a literal segment never match the same request, so any order is correct.
    """
    if not isinstance(route, APIRoute):
        raise TypeError(f"{route} is not a route of a handler.")
    segments = [(True, "") if "{" in segment else (False, segment) for segment in route.path.split("/")]
    return segments, sorted(route.methods or ())
