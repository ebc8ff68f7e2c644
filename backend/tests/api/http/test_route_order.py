"""Tests that requests reach the same handlers in whatever order routes are registered."""

import random
import re
from collections import Counter
from collections.abc import Sequence

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match

from shardboard.api.http.route_order import merge_routers
from shardboard.app import AREAS

ROUTERS = [router for area in AREAS for router in area.ROUTERS]
PARAMETER = re.compile(r"{\w+}")


def shuffled(seed: int) -> list[APIRouter]:
    """Return the routers in random order, with their routes in random order."""
    rng = random.Random(seed)
    routers = [APIRouter(routes=rng.sample(router.routes, len(router.routes))) for router in ROUTERS]
    return rng.sample(routers, len(routers))


def routes_of(router: APIRouter) -> list[APIRoute]:
    return [route for route in router.routes if isinstance(route, APIRoute)]


def matching_route(routes: Sequence[APIRoute], method: str, path: str) -> APIRoute:
    """Return the route that gets a request: the first that matches path and method."""
    scope = {"type": "http", "method": method, "path": path}
    return next(route for route in routes if route.matches(scope)[0] is Match.FULL)


@pytest.mark.parametrize(
    "routers",
    [ROUTERS, ROUTERS[::-1], *map(shuffled, range(3))],
    ids=["as listed", "reversed", "shuffled 0", "shuffled 1", "shuffled 2"],
)
def test_registration_order_is_irrelevant(routers: list[APIRouter]) -> None:
    routes = routes_of(merge_routers(routers))
    for route in routes:
        for method in route.methods:
            assert matching_route(routes, method, PARAMETER.sub("1", route.path)) is route
    expected = routes_of(merge_routers(ROUTERS))
    assert [(route.path, route.endpoint) for route in routes] == [(route.path, route.endpoint) for route in expected]


def test_no_two_routes_match_the_same_requests() -> None:
    requests = Counter(
        (method, PARAMETER.sub("{}", route.path))
        for route in routes_of(merge_routers(ROUTERS))
        for method in route.methods
    )
    assert [request for request, number in requests.items() if number > 1] == []


def test_parameters_are_complete_segments() -> None:
    """The order compares segments, so a parameter must not be part of a segment or contain several."""
    segments = {segment for route in routes_of(merge_routers(ROUTERS)) for segment in route.path.split("/")}
    assert [segment for segment in segments if "{" in segment and not PARAMETER.fullmatch(segment)] == []


def test_literal_segments_precede_parameters() -> None:
    router = APIRouter()
    paths = ("/{a}/{b}", "/{z}/last", "/stats/{c}", "/stats/last", "/stats")
    for path in paths:
        router.add_api_route(path, lambda: None)
    routes = routes_of(merge_routers([router]))
    assert [route.path for route in routes] == ["/stats", "/stats/last", "/stats/{c}", "/{z}/last", "/{a}/{b}"]


def test_nested_routers_are_rejected() -> None:
    outer, inner = APIRouter(), APIRouter()
    inner.add_api_route("/inner", lambda: None)
    outer.include_router(inner)
    with pytest.raises(TypeError):
        merge_routers([outer])
