"""Tests that agents refuse requests of earlier leaders, also after a restart, and how the console reacts."""

from pathlib import Path

import httpx
import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.running_agent import running_agent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard.agent.cluster import terms
from shardboard.agent.cluster.terms import AcceptedTerm, TermMiddleware
from shardboard.contract.terms import TERM_HEADER, Term, parse_term
from shardboard.driver.agents import HttpAgents
from shardboard.driver.terms import TermRefused
from shardboard.kit.tenure import LostLeadership, Tenure
from shardboard.settings import Settings


def client_of(state_dir: Path) -> httpx.AsyncClient:
    """Return a client of an agent that starts with this state directory and executes each request it accepts."""

    async def execute(_: Request) -> PlainTextResponse:
        return PlainTextResponse("executed")

    app = TermMiddleware(Starlette(routes=[Route("/", execute)]), AcceptedTerm(state_dir))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://agent")


async def send(agent: httpx.AsyncClient, term: str | None) -> int:
    return (await agent.get("/", headers={TERM_HEADER: term} if term is not None else {})).status_code


async def test_outdated_terms_are_refused_also_after_a_restart(tmp_path: Path) -> None:
    agent = client_of(tmp_path)
    assert [await send(agent, term) for term in ("5 a", "5 a", "4 a", "5 b", "6 b", "5 a", None)] == [
        *(200, 200, 409, 409, 200, 409, 200)
    ]
    restarted = client_of(tmp_path)
    reply = await restarted.get("/", headers={TERM_HEADER: "5 a"})
    assert (reply.status_code, reply.json()) == (409, {"code": "term_outdated", "term": 6})
    assert await send(restarted, "6 b") == 200


@pytest.mark.parametrize("header", ["", "5", "x a", "-1 a", "5 a b", "5 a/b", f"{10**18} a"])
async def test_invalid_terms_are_rejected(tmp_path: Path, header: str) -> None:
    assert parse_term(header) is None
    assert await send(client_of(tmp_path), header) == 400


async def test_term_is_on_disk_before_a_request_is_executed(tmp_path: Path) -> None:
    async def execute(_: Request) -> PlainTextResponse:
        return PlainTextResponse((tmp_path / "term").read_text())

    app = TermMiddleware(Starlette(routes=[Route("/", execute)]), AcceptedTerm(tmp_path))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://agent") as agent:
        assert (await agent.get("/", headers={TERM_HEADER: "7 a"})).text == "7 a\n"


async def test_full_disk_and_damaged_file_do_not_make_the_node_unmanageable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "term").write_bytes(b"\xff\x00")
    agent = client_of(tmp_path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(terms, "write_private", fail)
        assert [await send(agent, term) for term in ("3 a", "2 a", "3 a")] == [200, 409, 200]
    assert await send(agent, "3 a") == 200
    assert (tmp_path / "term").read_text() == "3 a\n"


class KnownTerm:
    """Term that a console knows. `next_term` is what it reads or raises when an agent refuses a request."""

    def __init__(self, term: Term, next_term: Term | None) -> None:
        self.term, self.next_term = term, next_term

    async def update(self, newest: int) -> bool:
        if self.next_term is None:
            return False
        self.term, self.next_term = self.next_term, None
        return True


async def test_a_console_repeats_a_refused_request_with_a_newer_term(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = new_console_ca(Settings(state_dir=tmp_path_factory.mktemp("console")))
    known = KnownTerm(Term(4, "b"), Term(9, "b"))
    agents, outdated = HttpAgents(authority.client_ssl_context, known), KnownTerm(Term(8, "a"), None)
    async with running_agent(tmp_path / "agent", authority) as node:
        leader = Tenure(8, "a", float("inf"))
        with leader.acting():
            await agents.shards(node)
        await agents.shards(node)
        assert known.term == Term(9, "b")
        outdated_agents = HttpAgents(authority.client_ssl_context, outdated)
        with pytest.raises(TermRefused, match="term 9"):
            await outdated_agents.shards(node)
        with leader.acting(), pytest.raises(TermRefused):
            await outdated_agents.shards(node)
        leader.deadline = 0.0
        with leader.acting(), pytest.raises(LostLeadership):
            await agents.shards(node)
        without_terms = HttpAgents(authority.client_ssl_context)
        await without_terms.shards(node)
        for each in (agents, outdated_agents, without_terms):
            await each.close()
