"""Tests of how the console assembles its parts."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules, walk_packages
from types import ModuleType
from typing import cast

from backend.tests.support.app_factory import app_for
from fastapi import APIRouter
from fastapi.routing import APIRoute, iter_route_contexts

from shardboard import api
from shardboard import collectors as collectors_package
from shardboard import reconcilers as reconcilers_package
from shardboard.app import AREAS
from shardboard.collectors import registry as collectors
from shardboard.console import Console
from shardboard.domain.cluster.actions import SWITCHOVER_ACTIONS, ActionName
from shardboard.lifecycle.supervision import Loop
from shardboard.reconcilers import registry as reconcilers
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import Stepper
from shardboard.services.loop_requests import LoopRequests


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Return all modules of a package and of its areas."""
    return (import_module(each.name) for each in walk_packages(package.__path__, f"{package.__name__}."))


def prepared_loops(console: Console) -> list[Loop]:
    store, bus, agents = console.store, console.bus, console.agents
    pulses, leadership, presence = console.pulses, console.leadership, console.presence
    return [
        *collectors.shared_loops(store, bus, agents, console.live, pulses, leadership.acting, presence),
        *collectors.leader_loops(
            store,
            bus,
            agents,
            console.live,
            pulses,
            console.notifier,
            dict,
            "test",
            console.settings.state_dir,
            leadership.hand_over,
        ),
        *reconcilers.leader_loops(
            store,
            bus,
            agents,
            console.ca,
            console.trust,
            console.live.last_offset,
            console.pulses.seconds_since_gap,
            LoopRequests(),
            console.id,
        ),
        Loop("follow and renew certificates", console.certificate_loop.run),
    ]


def test_each_area_with_endpoints_is_included() -> None:
    packages = {each.name for each in iter_modules(api.__path__)}
    assert packages - {"http"} == {area.__name__.rpartition(".")[2] for area in AREAS}


def test_each_router_is_listed_by_its_area(console: Console) -> None:
    served_routes = {(context.path, context.endpoint) for context in iter_route_contexts(app_for(console).routes)}
    for area in AREAS:
        routers = [value for module in modules(area) for value in vars(module).values() if isinstance(value, APIRouter)]
        assert sorted(map(id, routers)) == sorted(map(id, area.ROUTERS)), area.__name__
        for route in (route for router in routers for route in router.routes):
            assert isinstance(route, APIRoute)
            assert (route.path, route.endpoint) in served_routes


async def test_each_loop_is_registered(console: Console) -> None:
    loops = prepared_loops(console)
    registered = {type(loop.run.__self__) for loop in loops if inspect.ismethod(loop.run)}
    defined = {
        value
        for package in (collectors_package, reconcilers_package)
        for module in modules(package)
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__ == module.__name__ and not inspect.isabstract(value)
        if inspect.iscoroutinefunction(getattr(value, "run", None))
    }
    assert registered == defined
    assert len({loop.name for loop in loops}) == len(loops)


async def test_loops_without_which_databases_do_not_fail_over_are_vital(console: Console) -> None:
    assert {loop.name for loop in prepared_loops(console) if loop.vital} == {
        *("collect samples from nodes", "watch nodes", "schedule failovers", "run actions")
    }


def test_each_stepper_is_registered(console: Console) -> None:
    steppers = reconcilers.steppers(
        console.store, console.agents, cast(Endpoints, None), console.live.last_offset, LoopRequests()
    )
    defined = {
        value
        for module in modules(reconcilers_package)
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__ == module.__name__ and value is not Stepper
        if all(inspect.iscoroutinefunction(getattr(value, name, None)) for name in ("step", "finish", "fail"))
    }
    assert {type(stepper) for stepper in steppers.values()} == defined


def test_actions_that_move_primary_roles_have_a_stepper(console: Console) -> None:
    steppers = reconcilers.steppers(
        console.store, console.agents, cast(Endpoints, None), console.live.last_offset, LoopRequests()
    )
    assert steppers.keys() >= {*SWITCHOVER_ACTIONS, ActionName.FAILOVER}
