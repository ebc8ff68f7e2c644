"""Tests of loading the identity of an agent from the files of an earlier process."""

import asyncio
import dataclasses
import errno
import ssl
from pathlib import Path

import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.running_agent import identity_of

from shardboard.agent.cluster import key_generation
from shardboard.agent.cluster.identity import AgentPort, CertificateRenewal, EnrolError, load
from shardboard.contract import AgentCertificate, TrustedCas
from shardboard.pki.console_ca import ConsoleCa
from shardboard.settings import Settings


@pytest.fixture
def authority(tmp_path: Path) -> ConsoleCa:
    return new_console_ca(Settings(state_dir=tmp_path / "console"))


def served_certificate(port: AgentPort) -> str:
    """Return the certificate (PEM) that a new client of the port gets."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname, client_context.verify_mode = False, ssl.CERT_NONE
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server)
    server = port.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
    client.do_handshake()
    certificate = client.getpeercert(binary_form=True)
    assert certificate is not None
    return ssl.DER_cert_to_PEM_cert(certificate)


def check_loadable(path: Path) -> None:
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_agent_that_has_not_joined_has_no_identity(tmp_path: Path) -> None:
    assert load(tmp_path) is None


def test_damaged_identity_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text("{}")
    with pytest.raises(EnrolError, match="Remove it"):
        load(tmp_path)


@pytest.mark.parametrize("interrupted", [False, True])
def test_separate_key_file_of_an_earlier_release_is_merged(
    tmp_path: Path, authority: ConsoleCa, interrupted: bool
) -> None:
    identity = identity_of(tmp_path, authority)
    pair = identity.certificate.read_text()
    key_start = pair.index("-----BEGIN PRIVATE KEY")
    key_file = identity.certificate.with_suffix(".key")
    key_file.write_text(pair[key_start:])
    if not interrupted:
        identity.certificate.write_text(pair[:key_start])
    assert load(tmp_path) == identity
    assert identity.certificate.read_text() == pair
    assert not key_file.exists()
    check_loadable(identity.certificate)


def test_stale_key_file_is_ignored_after_joining_again(tmp_path: Path, authority: ConsoleCa) -> None:
    stale = identity_of(tmp_path / "before", authority).certificate.read_text()
    identity = identity_of(tmp_path, authority)
    identity.certificate.with_suffix(".key").write_text(stale[stale.index("-----BEGIN PRIVATE KEY") :])
    assert load(tmp_path) == identity
    check_loadable(identity.certificate)


def test_flaw_names_what_the_console_would_reject(tmp_path: Path, authority: ConsoleCa) -> None:
    assert identity_of(tmp_path / "good", authority).validation_error() == ""
    assert "expired" in identity_of(tmp_path / "over", authority, days=0).validation_error()
    moved = identity_of(tmp_path / "moved", authority)
    assert "mismatch" in dataclasses.replace(moved, addr="127.0.0.9").validation_error()


def test_unusable_certificate_files_are_reported(tmp_path: Path, authority: ConsoleCa) -> None:
    identity = identity_of(tmp_path, authority)
    identity.certificate.write_bytes(b"\xff nonsense")
    assert "are not usable" in identity.validation_error()
    with pytest.raises(EnrolError, match=r"Remove agent\.json"):
        identity.context()
    identity.certificate.unlink()
    assert "are not usable" in identity.validation_error()
    with pytest.raises(EnrolError, match=r"Remove agent\.json"):
        identity.context()


def test_key_file_that_cannot_be_merged_is_used_in_place(
    tmp_path: Path, authority: ConsoleCa, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_with_full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    identity = identity_of(tmp_path, authority)
    certificate, key_start, key_part = identity.certificate.read_text().partition("-----BEGIN P")
    identity.certificate.write_text(certificate)
    key_file = identity.certificate.with_suffix(".key")
    key_file.write_text(key_start + key_part)
    monkeypatch.setattr("shardboard.agent.cluster.identity.write_private", fail_with_full_disk)
    loaded = load(tmp_path)
    assert loaded is not None
    assert "No space left" in caplog.text
    assert (loaded.key, loaded.validation_error()) == (key_file, "")
    loaded.context()
    monkeypatch.undo()
    load(tmp_path)
    assert (loaded.key, loaded.validation_error(), key_file.exists()) == (loaded.certificate, "", False)


async def test_other_users_of_the_certificate_are_notified_of_renewal(tmp_path: Path, authority: ConsoleCa) -> None:
    identity = identity_of(tmp_path, authority)
    renewal, updates = CertificateRenewal(identity, AgentPort(identity)), []

    async def record_update() -> str:
        updates.append(identity.certificate.read_text())
        return ""

    renewal.add_server(record_update)
    other_certificate = AgentCertificate(certificate=authority.sign_agent(key_generation.generate()[1], identity.addr))
    assert (await renewal.install(other_certificate)).error
    request = await renewal.request()
    assert (await renewal.install(other_certificate)).error
    assert updates == []
    valid = authority.sign_agent(request.csr, identity.addr)
    assert (await renewal.install(AgentCertificate(certificate=valid))).error == ""
    [update] = updates
    assert update.startswith(valid)


async def test_port_serves_a_renewed_certificate_after_the_other_servers(tmp_path: Path, authority: ConsoleCa) -> None:
    """The console removes the former CA as soon as the ports of all agents serve certificates of the current one."""
    identity = identity_of(tmp_path, authority)
    former = identity.certificate.read_text()
    port = AgentPort(identity)
    renewal, is_reading, confirmed = CertificateRenewal(identity, port), asyncio.Event(), asyncio.Event()

    async def reload() -> str:
        is_reading.set()
        await confirmed.wait()
        return ""

    renewal.add_server(reload)
    renewed = authority.sign_agent((await renewal.request()).csr, identity.addr)
    installation = asyncio.create_task(renewal.install(AgentCertificate(certificate=renewed)))
    await is_reading.wait()
    assert identity.certificate.read_text().startswith(renewed), "the other server reads the file"
    trust_change = asyncio.create_task(renewal.trust(TrustedCas(certificates=authority.ca_pem)))
    await asyncio.wait([installation, trust_change], timeout=0.1)
    assert served_certificate(port) in former
    confirmed.set()
    assert [reply.error for reply in await asyncio.gather(installation, trust_change)] == ["", ""]
    assert served_certificate(port) in renewed


async def test_certificate_that_another_server_does_not_use_is_not_installed(
    tmp_path: Path, authority: ConsoleCa
) -> None:
    identity = identity_of(tmp_path, authority)
    former = identity.certificate.read_text()
    port = AgentPort(identity)
    renewal, errors = CertificateRenewal(identity, port), ["it did not respond"]

    async def reload() -> str:
        return errors[0]

    renewal.add_server(reload)
    renewed = authority.sign_agent((await renewal.request()).csr, identity.addr)
    assert (await renewal.install(AgentCertificate(certificate=renewed))).error == "it did not respond"
    assert (await renewal.trust(TrustedCas(certificates=authority.ca_pem))).error == ""
    assert served_certificate(port) in former
    assert identity.certificate.read_text() == former, "a restarted agent serves the same certificate"
    errors[0] = ""
    assert (await renewal.install(AgentCertificate(certificate=renewed))).error == ""
    assert served_certificate(port) in renewed


async def test_certificate_is_not_installed_if_the_request_is_cancelled(tmp_path: Path, authority: ConsoleCa) -> None:
    identity = identity_of(tmp_path, authority)
    former = identity.certificate.read_text()
    port = AgentPort(identity)
    renewal, is_reading = CertificateRenewal(identity, port), asyncio.Event()

    async def reload() -> str:
        is_reading.set()
        await asyncio.Event().wait()
        return ""

    renewal.add_server(reload)
    renewed = authority.sign_agent((await renewal.request()).csr, identity.addr)
    installation = asyncio.create_task(renewal.install(AgentCertificate(certificate=renewed)))
    await is_reading.wait()
    installation.cancel()
    with pytest.raises(asyncio.CancelledError):
        await installation
    assert served_certificate(port) in former
    assert identity.certificate.read_text() == former


async def test_certificate_of_another_enrolment_is_served_though_another_server_fails(
    tmp_path: Path, authority: ConsoleCa, caplog: pytest.LogCaptureFixture
) -> None:
    identity = identity_of(tmp_path, authority, days=0)
    port = AgentPort(identity)
    renewal, served = CertificateRenewal(identity, port), []

    async def reload() -> str:
        served.append(served_certificate(port))
        return "it did not respond"

    renewal.add_server(reload)
    former, after = identity.certificate.read_text(), identity_of(tmp_path, authority).certificate.read_text()
    await renewal.serve_after_enrolment()
    assert served[0] in former
    assert served_certificate(port) in after
    assert "it did not respond" in caplog.text
