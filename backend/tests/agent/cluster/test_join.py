"""Tests of agents that join a console over real TLS, and of the errors they report if they cannot."""

import asyncio
import errno
import logging
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from backend.tests.support.app_factory import app_for
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import wait_until
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from sqlalchemy import func, select, update

from shardboard.agent.cluster import key_generation
from shardboard.agent.cluster.identity import AgentIdentity, AgentPort, CertificateRenewal, EnrolError, load
from shardboard.agent.cluster.join import _Console, enrol, stay_enrolled
from shardboard.agent.settings import AgentSettings
from shardboard.console import Console
from shardboard.contract.protocol import CONSOLE_NAME
from shardboard.driver.fake_agents import FACTS
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.key_files import write_private
from shardboard.pki.server_certificate import ServerIdentity as ServerIdentity
from shardboard.pki.tls import PEER_DAYS, key_pem
from shardboard.services.cluster.join import create_token
from shardboard.settings import Settings
from shardboard.state.alerting import events
from shardboard.state.cluster.join_tokens import JoinToken


@pytest.fixture
async def port(console: Console) -> AsyncIterator[int]:
    """Serve the console on 127.0.0.1 and, without a matching certificate name, on 127.0.0.2. Return the port."""
    async with serve_console(console, console.certificate.context) as number:
        yield number


@asynccontextmanager
async def serve_console(console: Console, context: ssl.SSLContext) -> AsyncIterator[int]:
    sockets = [socket.create_server(("127.0.0.1", 0))]
    number = sockets[0].getsockname()[1]
    sockets.append(socket.create_server(("127.0.0.2", number)))
    config = uvicorn.Config(
        app_for(console), ssl_context_factory=lambda *_: context, log_level="warning", lifespan="off"
    )
    server = uvicorn.Server(config)
    server_task = asyncio.create_task(server.serve(sockets))
    while not server.started:  # noqa: ASYNC110 - uvicorn provides no event to wait for
        await asyncio.sleep(0.01)
    yield number
    server.should_exit = True
    await server_task


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "agent"
    directory.mkdir()
    return directory


async def new_token(console: Console, authority: ConsoleCa | None = None, addr: str = "127.0.0.1") -> str:
    async with console.store.begin() as session:
        token = (await create_token(session, originator="admin", addr=addr))[0]
    return token if authority is None else f"{token.rpartition('.')[0]}.{authority.ca_fingerprint()}"


async def enrol_agent(
    url: str, token: str | None, state_dir: Path, addr: str = "127.0.0.1", agent_port: int = 9700
) -> AgentIdentity:
    return await asyncio.to_thread(enrol, url, token, addr, agent_port, state_dir, FACTS)


def files_in(state_dir: Path) -> list[Path]:
    return list(state_dir.iterdir())


async def enrol_error(url: str, token: str | None, state_dir: Path, addr: str = "127.0.0.1") -> str:
    """Return the error message of a failed attempt, and check that it leaves no files."""
    with pytest.raises(EnrolError) as error:
        await enrol_agent(url, token, state_dir, addr)
    assert files_in(state_dir) == []
    return str(error.value)


def days_left(identity: AgentIdentity) -> int:
    expiry = x509.load_pem_x509_certificate(identity.certificate.read_bytes()).not_valid_after_utc
    return round((expiry - datetime.now(UTC)) / timedelta(days=1))


async def count_tokens(console: Console) -> int:
    async with console.store.read() as session:
        return (await session.execute(select(func.count()).select_from(JoinToken))).scalar_one()


async def test_agent_enrols_once(console: Console, port: int, state_dir: Path) -> None:
    url = f"https://localhost:{port}"
    identity = await enrol_agent(url, await new_token(console), state_dir)
    assert (identity.node_uid, identity.addr, identity.port, identity.console) == (1, "127.0.0.1", 9700, url)
    for path in (identity.certificate, identity.ca, state_dir / "agent.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert identity.ca.read_text() == console.ca.ca_pem
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(identity.certificate)
    assert days_left(identity) == PEER_DAYS
    assert enrol(None, None, "127.0.0.1", 9700, state_dir, FACTS) == identity


async def test_url_with_an_ip_address_is_accepted(console: Console, port: int, state_dir: Path) -> None:
    assert (await enrol_agent(f"https://127.0.0.1:{port}/", await new_token(console), state_dir)).node_uid == 1


async def test_address_of_an_enrolled_agent_cannot_change(console: Console, port: int, state_dir: Path) -> None:
    await enrol_agent(f"https://localhost:{port}", await new_token(console), state_dir)
    for addr, agent_port in (("127.0.0.2", 9700), ("127.0.0.1", 9701)):
        with pytest.raises(EnrolError, match="belongs to the agent of 127"):
            enrol(None, None, addr, agent_port, state_dir, FACTS)


async def test_expired_certificate_is_replaced_with_a_new_token(
    console: Console, port: int, state_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("shardboard.agent.cluster.join.CHECK_SECONDS", 0.05)
    caplog.set_level(logging.INFO)
    with monkeypatch.context() as patch:
        patch.setattr("shardboard.services.cluster.join.PEER_DAYS", 0)
        first = await enrol_agent(f"https://localhost:{port}", await new_token(console), state_dir)
    assert "expired" in first.validation_error()
    assert enrol(None, None, "127.0.0.1", 9700, state_dir, FACTS) == first, "the agent starts and manages its shards"
    sent_tokens: list[str] = []
    post = _Console.post

    def recording_post(self: _Console, path: str, body: dict[str, Any]) -> dict[str, Any]:
        sent_tokens.append(body["token"])
        return post(self, path, body)

    monkeypatch.setattr(_Console, "post", recording_post)
    file = state_dir / "token"
    settings = AgentSettings("127.0.0.1", token_file=file, state_dir=state_dir)
    renewal = CertificateRenewal(first, AgentPort(first))
    enrolment = asyncio.create_task(stay_enrolled(settings, first, FACTS, renewal))
    await wait_until(lambda: "(certificate has expired). To join a cluster, the agent needs" in caplog.text)
    used_token = f"sb1.used.{console.ca.ca_fingerprint()}"
    file.write_text(used_token)
    await wait_until(lambda: "The console rejected" in caplog.text)
    valid_token = await new_token(console)
    write_private(file, valid_token.encode())
    await wait_until(lambda: "joined the cluster again" in caplog.text)
    assert sent_tokens == [used_token, valid_token], "a rejected token is not sent again"
    assert first.validation_error() == ""
    assert days_left(first) == PEER_DAYS
    assert load(state_dir) == first, "the node uid is unchanged"
    write_private(file, (await new_token(console)).encode())
    monkeypatch.setattr(AgentIdentity, "validation_error", flaw := Mock(return_value=""))
    await wait_until(lambda: flaw.call_count)
    assert await count_tokens(console) == 1
    enrolment.cancel()


async def test_token_of_another_console_is_reported_and_not_used(
    console: Console,
    port: int,
    state_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The state of the console was lost: the console has a new CA, and the agent has a certificate of the previous one."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("shardboard.agent.cluster.join.CHECK_SECONDS", 0.01)
    lost = new_console_ca(Settings(state_dir=tmp_path / "lost"))
    url = f"https://localhost:{port}"
    private, csr = key_generation.generate()
    identity = AgentIdentity.in_state_dir(state_dir, 1, "127.0.0.1", 9700, url)
    identity.save(state_dir, lost.sign_agent(csr, "127.0.0.1"), private, lost.ca_pem)
    asked: list[str] = []
    fetch_ca = _Console.fetch_ca

    def recording_fetch_ca(self: _Console) -> str:
        asked.append(self._fingerprint)
        return fetch_ca(self)

    monkeypatch.setattr(_Console, "fetch_ca", recording_fetch_ca)
    file = state_dir / "token"
    file.write_text(f"sb1.old.{lost.ca_fingerprint()}")
    settings = AgentSettings("127.0.0.1", token_file=file, state_dir=state_dir)
    renewal = CertificateRenewal(identity, AgentPort(identity))
    monitor = asyncio.create_task(stay_enrolled(settings, identity, FACTS, renewal))
    write_private(file, f"sb1.older.{'0' * 64}".encode())
    await wait_until(lambda: "0" * 64 in asked)
    assert caplog.text == "", "the console no longer has the CA of that token"
    token = await new_token(console)
    write_private(file, token.encode())

    async def is_recorded() -> bool:
        async with console.store.read() as session:
            return "node_join_conflict" in [each.type for each in await events.page(session, newest_first=True)]

    await wait_until(is_recorded)
    monitor.cancel()
    assert caplog.text.count(f"This agent belongs to a different console than {url}") == 1
    assert str(state_dir / "agent.json") in caplog.text
    assert lost.ca_fingerprint() not in asked, "a token with the CA that it trusts is not checked"
    assert load(state_dir) == identity
    assert await count_tokens(console) == 1


async def test_write_error_during_enrolment_is_reported(
    console: Console, port: int, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_with_full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shardboard.agent.cluster.identity.write_private", fail_with_full_disk)
    with pytest.raises(EnrolError, match=r"No space left on device\. The token has been used"):
        await enrol_agent(f"https://localhost:{port}", await new_token(console), state_dir)


async def test_used_and_expired_tokens_are_rejected(
    console: Console, port: int, state_dir: Path, tmp_path: Path
) -> None:
    url = f"https://localhost:{port}"
    used_token = await new_token(console, addr="127.0.0.2")
    (tmp_path / "first").mkdir()
    await enrol_agent(url, used_token, tmp_path / "first", "127.0.0.2")
    assert "already used" in await enrol_error(url, used_token, state_dir)
    expired = await new_token(console)
    async with console.store.begin() as session:
        await session.execute(update(JoinToken).values(expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    assert "has expired" in await enrol_error(url, expired, state_dir)


async def test_token_is_not_sent_to_a_console_with_another_ca(
    console: Console, port: int, state_dir: Path, tmp_path: Path
) -> None:
    other = new_console_ca(Settings(state_dir=tmp_path / "other"))
    token = await new_token(console, other)
    assert "a different fingerprint" in await enrol_error(f"https://localhost:{port}", token, state_dir)
    assert await count_tokens(console) == 1


async def test_extra_certificate_in_the_join_reply_is_not_trusted(
    console: Console, port: int, state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Base64 decoders stop at the padding, so data after the genuine certificate could pass the fingerprint check."""
    genuine = console.ca.ca_pem
    foreign = new_console_ca(Settings(state_dir=tmp_path / "foreign")).ca_pem
    token = await new_token(console)
    monkeypatch.setattr(ConsoleCa, "ca_pem", genuine + foreign)
    try:
        identity = await enrol_agent(f"https://localhost:{port}", token, state_dir)
    except EnrolError as error:
        assert "a different fingerprint" in str(error)  # noqa: PT017 - raised only for some paddings
    else:
        assert identity.ca.read_text() == genuine


async def test_any_address_of_the_console_machine_is_accepted(console: Console, port: int, state_dir: Path) -> None:
    url = f"https://127.0.0.2:{port}"
    assert (await enrol_agent(url, await new_token(console), state_dir)).console == url


def reverse_proxy_context(console: Console) -> ssl.SSLContext:
    """Return the TLS context of a reverse proxy, which serves one certificate for every name."""
    names = [name for name in console.ca.names if name != CONSOLE_NAME]
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = console.ca.current.sign(key.public_key(), names, [ExtendedKeyUsageOID.SERVER_AUTH], 1)
    return ServerIdentity((certificate,), key_pem(key)).context()


async def test_reverse_proxy_certificate_for_its_host_is_accepted(console: Console, state_dir: Path) -> None:
    async with serve_console(console, reverse_proxy_context(console)) as port:
        assert (await enrol_agent(f"https://127.0.0.1:{port}", await new_token(console), state_dir)).node_uid == 1


async def test_reverse_proxy_that_rejects_unknown_names_works(console: Console, state_dir: Path) -> None:
    context = reverse_proxy_context(console)

    def refuse(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> int | None:
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME if name == CONSOLE_NAME else None

    context.sni_callback = refuse
    async with serve_console(console, context) as port:
        assert (await enrol_agent(f"https://localhost:{port}", await new_token(console), state_dir)).node_uid == 1


async def test_port_without_tls_is_reported_as_unreachable(console: Console, state_dir: Path) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert "is unreachable" in await enrol_error(f"https://127.0.0.1:{port}", await new_token(console), state_dir)


async def test_reverse_proxy_certificate_for_another_host_is_rejected(console: Console, state_dir: Path) -> None:
    async with serve_console(console, reverse_proxy_context(console)) as port:
        error_text = await enrol_error(f"https://127.0.0.2:{port}", await new_token(console), state_dir)
    assert "join through the HTTPS port of the console" in error_text
    assert await count_tokens(console) == 1


async def test_unreachable_console_is_reported(console: Console, state_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        number = unused.getsockname()[1]
    error_text = await enrol_error(f"https://127.0.0.1:{number}", await new_token(console), state_dir)
    assert "is unreachable" in error_text


@pytest.mark.parametrize("url", ["http://localhost:9443", "localhost:9443", "https://", "ftp://a", "https://a:b"])
async def test_invalid_urls_are_rejected(console: Console, state_dir: Path, url: str) -> None:
    assert "must have the form" in await enrol_error(url, await new_token(console), state_dir)


@pytest.mark.parametrize("token", ["nonsense", "sb1.a.b", "sb2.a." + "0" * 64])
async def test_invalid_tokens_are_rejected(state_dir: Path, token: str) -> None:
    assert "The join token is not valid" in await enrol_error("https://localhost:9443", token, state_dir)


async def test_first_start_requires_url_and_token(state_dir: Path) -> None:
    assert "--join" in await enrol_error("https://localhost:9443", None, state_dir)
    assert "--join" in await enrol_error("", "sb1.a." + "0" * 64, state_dir)


@pytest.mark.parametrize(
    ("addr", "expected"),
    [
        ("192.0.2.1", "not an address of this machine"),
        ("no-such-host.invalid", "cannot be resolved"),
        ("", "--address"),
    ],
)
async def test_address_must_belong_to_this_machine(console: Console, state_dir: Path, addr: str, expected: str) -> None:
    error_text = await enrol_error("https://localhost:1", await new_token(console), state_dir, addr)
    assert expected in error_text


def test_running_agent_does_not_import_large_packages() -> None:
    code = "import sys, shardboard.agent.app; sys.exit(bool({'cryptography', 'httpx'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
