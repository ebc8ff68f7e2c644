"""Tests of two consoles on one store: each follows certificates that the other one changes, and agents accept both."""

import asyncio
from pathlib import Path

import httpx
import pytest
from backend.tests.conftest import ON_POSTGRES
from backend.tests.pki.test_console_ca import agent_server, greeting
from backend.tests.support.certificates import sign
from backend.tests.support.real_shards import wait_until
from cryptography import x509
from sqlalchemy import text

from shardboard.agent.cluster import key_generation
from shardboard.console import Console
from shardboard.driver.fake_agents import FACTS, FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers.cluster.console_ca import ConsoleCaLoop
from shardboard.state.alerting import events
from shardboard.state.cluster import console_certificates as certificates
from shardboard.state.cluster import nodes

pytestmark = pytest.mark.store_in_all
PATH = "/v1/cluster/authority"


async def follow(*consoles: Console) -> None:
    for each in consoles:
        await each.certificate_loop.advance()


def served(console: Console) -> x509.Certificate:
    return console.certificate.identity.chain[0]


async def test_console_with_an_empty_state_directory_has_the_same_ca(
    console: Console, second_console: Console, tmp_path: Path
) -> None:
    """It needs only the store and its key. An agent accepts both consoles, and both accept the agent."""
    assert second_console.ca.ca_fingerprint() == console.ca.ca_fingerprint()
    assert second_console.ca.state.client == console.ca.state.client
    served(second_console).verify_directly_issued_by(console.ca.current.certificate)
    assert served(second_console) != served(console), "the key of a port does not leave its console"
    directory = second_console.ca.directory
    assert {path.name for path in directory.iterdir()} == {"ca.pem", "server.pem"}
    for signer, caller in ((console, second_console), (second_console, console)):
        with agent_server(signer.ca, tmp_path) as port:
            assert greeting(caller.ca.client_ssl_context(), port) == b"welcome"


async def test_replacement_of_the_ca_on_one_console_is_followed(
    console: Console,
    second_console: Console,
    client: httpx.AsyncClient,
    second_client: httpx.AsyncClient,
    tmp_path: Path,
) -> None:
    """Each step runs on the console that did not run the previous one, without waiting for its loop."""
    before = console.ca.current
    context = second_console.ca.client_ssl_context()
    assert (await client.post(f"{PATH}/announce")).status_code == 200
    refused = await second_client.post(f"{PATH}/announce")
    assert (refused.status_code, refused.json()["error_code"]) == (409, "authority_is_replaced")
    assert second_console.ca.trusted == console.ca.trusted
    assert second_console.ca.client_ssl_context() is context
    assert (await second_client.post(f"{PATH}/switch")).status_code == 200
    await follow(console)
    for each in (console, second_console):
        assert (each.ca.step, each.ca.former and each.ca.former.fingerprint) == ("served", before.fingerprint)
        assert each.ca.is_switch_complete
        served(each).verify_directly_issued_by(console.ca.current.certificate)
        assert each.ca.ca_file.read_text() == console.ca.current.chain_pem
    assert console.ca.state.client == second_console.ca.state.client
    with agent_server(console.ca, tmp_path) as port:
        assert greeting(second_console.ca.client_ssl_context(), port) == b"welcome"
    await ConsoleCaLoop(console.store, console.bus, console.ca, console.trust).advance()
    await follow(second_console)
    assert (console.ca.step, second_console.ca.step) == ("", "")
    await ConsoleCaLoop(second_console.store, second_console.bus, second_console.ca, second_console.trust).advance()
    async with console.store.read() as session:
        types = [each.type for each in await events.page(session, newest_first=False)]
    assert types.count("authority_forgotten") == 1


async def test_old_ca_is_removed_once(
    console: Console, second_console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both consoles find that it is no longer used, for example during a change of the leader."""

    async def read_before_the_change(*_: object) -> None:
        """The other console has read the state before the old CA was removed."""

    async with console.store.begin() as session:
        await certificates.replace(session, console.ca, console.ca.state.announcing().switched())
    await follow(second_console)
    monkeypatch.setattr(certificates, "follow", read_before_the_change)
    assert second_console.ca.step == "served"
    for each in (console, second_console):
        await ConsoleCaLoop(each.store, each.bus, each.ca, each.trust).advance()
    assert (console.ca.step, second_console.ca.step) == ("", "")
    async with console.store.read() as session:
        types = [each.type for each in await events.page(session, newest_first=False)]
    assert types.count("authority_forgotten") == 1


async def test_request_for_a_ca_can_be_answered_on_another_console(
    client: httpx.AsyncClient, second_client: httpx.AsyncClient
) -> None:
    await client.post(f"{PATH}/request")
    refused = await second_client.post(f"{PATH}/announce", json={"certificate": sign("other").pem})
    assert "does not match the key of the request" in refused.json()["description"]
    assert (await second_client.delete(f"{PATH}/next")).status_code == 200
    assert (await client.post(f"{PATH}/announce")).status_code == 200, "no request is open"


async def test_installed_certificate_is_served_by_all_consoles(
    console: Console, second_console: Console, client: httpx.AsyncClient
) -> None:
    own, signed = served(second_console), sign("for browsers")
    body = {"certificates": [{"name": "api", "certificate": signed.pem, "key": signed.key_pem}]}
    assert (await client.put("/v1/cluster/certificates", json=body)).status_code == 200
    await follow(second_console)
    assert served(console) == served(second_console) == signed.certificate
    assert (await client.delete("/v1/cluster/certificates/api")).status_code == 200
    await follow(second_console)
    assert served(second_console) == own


@pytest.mark.usefixtures("nodes")
async def test_agents_get_the_cas_that_another_console_announced(
    console: Console, second_console: Console, client: httpx.AsyncClient, agents: FakeAgents
) -> None:
    """Also before the other console has followed: an agent with fewer CAs would reject the consoles after the switch."""
    await client.post(f"{PATH}/announce")
    await second_console.trust.update()
    assert agents.trusted_cas == dict.fromkeys((1, 2, 3), console.ca.trusted)


@pytest.mark.skipif(not ON_POSTGRES, reason="a SQLite store has one console")
@pytest.mark.usefixtures("nodes")
async def test_consoles_send_cas_one_after_the_other(
    console: Console,
    second_console: Console,
    second_client: httpx.AsyncClient,
    agents: FakeAgents,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One console is sending the previous CAs. The agents end with the newer ones of the other console."""
    is_sending, may_continue, original = asyncio.Event(), asyncio.Event(), agents.set_trusted_cas

    async def delayed(node: NodeRef, cas: str, bundle: str) -> None:
        is_sending.set()
        await may_continue.wait()
        await original(node, cas, bundle)

    monkeypatch.setattr(agents, "set_trusted_cas", delayed)
    first = asyncio.create_task(console.trust.update())
    await is_sending.wait()
    assert (await second_client.post(f"{PATH}/announce")).status_code == 200
    second = asyncio.create_task(second_console.trust.update(force=True))
    async with console.store.engine.connect() as connection:
        waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        while not (await connection.execute(waiting)).scalar_one():
            assert not second.done()
            await asyncio.sleep(0.01)
    assert not agents.trusted_cas
    may_continue.set()
    await asyncio.gather(first, second)
    assert agents.trusted_cas == dict.fromkeys((1, 2, 3), second_console.ca.trusted)
    async with console.store.read() as session:
        stored = {node.trusted_cas for node in await nodes.list_all(session)}
    assert stored == {second_console.ca.trusted_digest}


@pytest.mark.usefixtures("nodes")
async def test_join_through_a_console_that_has_not_followed(
    client: httpx.AsyncClient, second_client: httpx.AsyncClient, second_console: Console, console: Console
) -> None:
    """The token and the certificate are of the current CA."""
    async with console.store.begin() as session:
        await certificates.replace(session, console.ca, console.ca.state.announcing().switched())
    token = (await client.post("/v1/join_tokens", json={"address": "10.0.0.3"})).json()["token"]
    assert token.endswith(console.ca.ca_fingerprint())
    assert second_console.ca.ca_fingerprint() != console.ca.ca_fingerprint()
    body = {
        "token": token,
        "csr": key_generation.generate()[1],
        "addr": "10.0.0.3",
        "agent_port": 9700,
        "facts": FACTS.model_dump(),
    }
    reply = await second_client.post("/v1/bootstrap/join", json=body)
    assert reply.status_code == 200, reply.text
    certificate = x509.load_pem_x509_certificate(reply.json()["certificate"].encode())
    certificate.verify_directly_issued_by(console.ca.current.certificate)


async def test_certificate_for_agents_is_renewed_once(
    console: Console, second_console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.pki.certificate_state.PEER_DAYS", 1)
    async with console.store.begin() as session:
        short = console.ca.state.announcing().switched().without_former()
        await certificates.replace(session, console.ca, short)
    await follow(second_console)
    monkeypatch.undo()
    await follow(console, second_console, console)
    assert short.client != console.ca.state.client == second_console.ca.state.client


async def test_loop_follows_a_change_at_once(console: Console, second_console: Console) -> None:
    """The bus announces changes of other consoles."""
    loop = asyncio.create_task(second_console.certificate_loop.run())
    try:
        async with console.store.begin() as session:
            await certificates.replace(session, console.ca, console.ca.state.announcing())
        second_console.bus.publish("change", (certificates.KIND, 1))
        await wait_until(lambda: second_console.ca.step == "announced")
    finally:
        loop.cancel()


async def test_result_of_an_earlier_read_is_ignored(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CA is replaced while the loop is reading the store."""
    find, before = certificates.find, console.ca.state

    async def slow_find(*arguments: object) -> object:
        found = await find(*arguments)  # type: ignore[arg-type]
        monkeypatch.undo()
        async with console.store.begin() as session:
            await certificates.replace(session, console.ca, before.announcing())
        return found

    monkeypatch.setattr(certificates, "find", slow_find)
    await follow(console)
    assert console.ca.step == "announced"
