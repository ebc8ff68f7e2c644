"""Tests of the CA: what it signs and stores, and which connections succeed on real sockets."""

import errno
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from backend.tests.support.consoles.console_ca import new_console_ca, restarted
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.agent.cluster import key_generation as key
from shardboard.contract.protocol import CONSOLE_NAME
from shardboard.errors import NotAcceptable
from shardboard.pki import certificate_state, console_ca, tls
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.tls import CA_DAYS, PEER_DAYS
from shardboard.settings import Settings

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path / "state")


def request_for(key: PrivateKey, *names: str) -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    if names:
        names_extension = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        builder = builder.add_extension(names_extension, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def with_unknown_version(request: str) -> str:
    der = ssl.PEM_cert_to_DER_cert(request.replace("CERTIFICATE REQUEST", "CERTIFICATE"))
    changed = ssl.DER_cert_to_PEM_cert(der.replace(b"\x02\x01\x00", b"\x02\x01\x01", 1))
    return changed.replace("CERTIFICATE", "CERTIFICATE REQUEST")


def agent_files(
    authority: ConsoleCa, directory: Path, addr: str = "127.0.0.1", days: int = PEER_DAYS
) -> tuple[Path, Path]:
    """Return the certificate file and the key file of an agent."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate_file, key_file = directory / f"agent-{addr}.pem", directory / f"agent-{addr}.key"
    certificate_file.write_text(authority.sign_agent(request_for(key), addr, days))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_file, key_file


@contextmanager
def agent_server(
    authority: ConsoleCa,
    directory: Path,
    addr: str = "127.0.0.1",
    seen: list[bytes | None] | None = None,
    days: int = PEER_DAYS,
) -> Iterator[int]:
    """Run a TLS server with the settings of an agent, and yield its port on 127.0.0.1.

    It greets each client that it accepts. If `seen` is given, the certificates (DER) of these clients are appended to it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.trusted)
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.load_cert_chain(*agent_files(authority, directory, addr, days))
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with plain:
                try:
                    with context.wrap_socket(plain, server_side=True) as secure:
                        if seen is not None:
                            seen.append(secure.getpeercert(binary_form=True))
                        secure.sendall(b"welcome")
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def greeting(context: ssl.SSLContext, port: int) -> bytes:
    """Connect and return the greeting. With TLS 1.3 a server refuses the client's certificate only after the handshake, so the
    error appears when reading."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        return secure.recv(100)


def test_keys_are_readable_only_by_the_owner(settings: Settings) -> None:
    directory = new_console_ca(settings).directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert sorted(path.name for path in directory.iterdir()) == [
        "ca.pem",
        "server.pem",
    ]


def test_second_start_does_not_change_files(settings: Settings) -> None:
    first = new_console_ca(settings)
    before = {path.name: path.read_bytes() for path in first.directory.iterdir()}
    second = restarted(first, settings)
    assert {path.name: path.read_bytes() for path in second.directory.iterdir()} == before
    assert second.ca_fingerprint() == first.ca_fingerprint()


def test_each_certificate_is_valid_for_one_direction(settings: Settings) -> None:
    ca = new_console_ca(settings)
    usages = {}
    for name, pair in (("server", ca.server_file.read_bytes()), ("client", ca.state.client.encode())):
        certificate = x509.load_pem_x509_certificate(pair)
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ca.ca_pem.encode()))
        usages[name] = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    assert usages == {"server": [ExtendedKeyUsageOID.SERVER_AUTH], "client": [ExtendedKeyUsageOID.CLIENT_AUTH]}


def test_new_names_renew_the_server_certificate_but_not_the_ca(settings: Settings) -> None:
    before = new_console_ca(settings)
    old = before.server_file.read_bytes()
    after = restarted(before, settings.model_copy(update={"public_names": ["Console.Example.com", "192.0.2.7"]}))
    new = x509.load_pem_x509_certificate(after.server_file.read_bytes())
    names = new.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "console.example.com" in names.get_values_for_type(x509.DNSName)
    assert {"127.0.0.1", "::1", "192.0.2.7"} <= {str(a) for a in names.get_values_for_type(x509.IPAddress)}
    assert after.server_file.read_bytes() != old
    assert after.ca_fingerprint() == before.ca_fingerprint()


def test_certificate_about_to_expire_is_renewed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_ca, "SERVER_DAYS", tls.RENEW_DAYS - 1)
    ca = new_console_ca(settings)
    old = ca.server_file.read_bytes()
    monkeypatch.undo()
    assert (ca.renew(), ca.renew()) == (True, False)
    new = ca.server_file.read_bytes()
    assert new != old
    certificate = x509.load_pem_x509_certificate(new)
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc > timedelta(days=tls.SERVER_DAYS)


def test_revoked_certificates_are_refused_on_the_next_connection(settings: Settings, tmp_path: Path) -> None:
    ca = new_console_ca(settings)
    with agent_server(ca, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        for refused, is_accepted in [
            ({"ab12"}, True),
            ({own}, False),
            ({own, "ab12"}, False),
            (set(), True),
            ({own}, False),
        ]:
            assert ca.reject_certificates(refused)
            assert not ca.reject_certificates(refused), "the list is unchanged"
            if is_accepted:
                assert greeting(ca.client_ssl_context(), port) == b"welcome"
            else:
                with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
                    greeting(ca.client_ssl_context(), port)
    # After a restart the console receives the list before it connects to agents.
    reloaded = restarted(ca, settings)
    assert reloaded.reject_certificates({own})
    with agent_server(reloaded, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        reloaded.reject_certificates({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(reloaded.client_ssl_context(), port)


def test_revocation_list_is_applied_again_after_an_error(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    ca = new_console_ca(settings)
    ca.client_ssl_context()
    monkeypatch.setattr(console_ca, "memory_file", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        ca.reject_certificates({"ab12"})
    monkeypatch.undo()
    assert ca.reject_certificates({"ab12"}), "the list is still new"


def test_client_certificate_is_renewed_while_the_console_runs(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate_state, "PEER_DAYS", CA_DAYS)  # the value of an earlier release
    ca = new_console_ca(settings)
    context = ca.client_ssl_context()
    old = ca.state
    monkeypatch.undo()
    new = old.renewed()
    assert new.client != old.client
    assert new.renewed() is new
    ca.apply(new)
    assert ca.client_ssl_context() is context
    served_certificates: list[bytes | None] = []
    with agent_server(ca, tmp_path, seen=served_certificates) as port:
        assert greeting(context, port) == b"welcome"
    assert served_certificates == [ssl.PEM_cert_to_DER_cert(new.client.partition("-----BEGIN P")[0])]


def test_damaged_server_certificate_is_replaced(settings: Settings) -> None:
    ca = new_console_ca(settings)
    file = ca.server_file
    for damaged in (b"not PEM", file.read_bytes()[:-100], file.read_bytes().partition(b"-----BEGIN P")[0]):
        file.write_bytes(damaged)
        restarted(ca, settings)
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)


def test_separate_key_files_are_removed_by_the_first_renewal(settings: Settings) -> None:
    """Earlier releases stored the key in a separate file."""
    ca = new_console_ca(settings)
    file = ca.server_file
    certificate, separator, key = file.read_bytes().partition(b"-----BEGIN P")
    file.write_bytes(certificate)
    key_file = file.with_suffix(".key")
    key_file.write_bytes(separator + key)
    restarted(ca, settings)
    assert not key_file.exists()
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)


def test_full_disk_is_an_error_only_without_a_valid_certificate(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(console_ca, "SERVER_DAYS", CA_DAYS)
    ca = new_console_ca(settings)
    monkeypatch.undo()
    monkeypatch.setattr(console_ca, "write_private", full)
    assert restarted(ca, settings).renew() is False
    assert "server.pem failed, the previous certificate is valid until" in caplog.text
    ca.server_file.unlink()
    with pytest.raises(OSError, match="No space"):
        restarted(ca, settings)


def test_client_and_agent_certificates_are_valid_from_the_start_of_the_ca(settings: Settings) -> None:
    """A machine whose clock is wrong can still accept them."""
    ca = new_console_ca(settings)
    valid_from = x509.load_pem_x509_certificate(ca.ca_pem.encode()).not_valid_before_utc
    client = x509.load_pem_x509_certificate(ca.state.client.encode())
    agents = x509.load_pem_x509_certificate(ca.sign_agent(key.generate()[1], "127.0.0.1").encode())
    assert (client.not_valid_before_utc, agents.not_valid_before_utc) == (valid_from, valid_from)


def test_store_with_an_older_ca_is_reported(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    """A copy of the store from before a replacement was restored."""
    ca = new_console_ca(settings)
    before = ca.state
    ca.apply(before.announcing().switched())
    restarted(ca, settings)
    ca.apply(ca.state.without_former())
    ca.renew()
    restarted(ca, settings)
    assert not caplog.records
    ConsoleCa(before, settings)
    assert "If an older copy was restored" in caplog.text


def test_agent_certificate_cannot_have_the_name_of_the_console(settings: Settings) -> None:
    csr = request_for(ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(NotAcceptable, match="is reserved for the console"):
        new_console_ca(settings).sign_agent(csr, CONSOLE_NAME.upper())


def test_agent_certificate_names_only_its_address(settings: Settings) -> None:
    ca = new_console_ca(settings)
    csr = request_for(ec.generate_private_key(ec.SECP256R1()), "localhost", "console.example.com")
    certificate = x509.load_pem_x509_certificate(ca.sign_agent(csr, "127.0.0.3").encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["127.0.0.3"]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


def with_broken_signature(csr_pem: str) -> str:
    der = bytearray(x509.load_pem_x509_csr(csr_pem.encode()).public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    return ssl.DER_cert_to_PEM_cert(bytes(der)).replace("CERTIFICATE", "CERTIFICATE REQUEST")


@pytest.mark.parametrize(
    ("csr", "message"),
    [
        ("", "is not readable"),
        ("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", "is not readable"),
        ("ü\x00", "is not readable"),
        (with_unknown_version(request_for(ec.generate_private_key(ec.SECP256R1()))), "is not readable"),
        (with_broken_signature(request_for(ec.generate_private_key(ec.SECP256R1()))), "signature"),
        (request_for(ec.generate_private_key(ec.SECP224R1())), "too weak"),
        (request_for(rsa.generate_private_key(65537, 1024)), "too weak"),  # noqa: S505 - weak on purpose
    ],
)
def test_invalid_signing_requests_are_refused(settings: Settings, csr: str, message: str) -> None:
    with pytest.raises(NotAcceptable, match=message) as refusal:
        new_console_ca(settings).sign_agent(csr, "127.0.0.1")
    assert (refusal.value.code, refusal.value.field) == ("invalid_certificate", "csr")


def test_console_connects_to_an_agent(settings: Settings, tmp_path: Path) -> None:
    ca = new_console_ca(settings)
    with agent_server(ca, tmp_path) as port:
        assert greeting(ca.client_ssl_context(), port) == b"welcome"


def test_agent_refuses_a_client_without_a_certificate(settings: Settings, tmp_path: Path) -> None:
    ca = new_console_ca(settings)
    context = ssl.create_default_context(cafile=str(ca.ca_file))
    with agent_server(ca, tmp_path) as port, pytest.raises((ssl.SSLError, ConnectionError)):
        greeting(context, port)


def test_agent_refuses_another_agent(settings: Settings, tmp_path: Path) -> None:
    ca = new_console_ca(settings)
    agent = ssl.create_default_context(cafile=str(ca.ca_file))
    agent.load_cert_chain(*agent_files(ca, tmp_path, "127.0.0.2"))
    with agent_server(ca, tmp_path) as port, pytest.raises((ssl.SSLError, ConnectionError)):
        greeting(agent, port)


def test_agent_refuses_another_console(settings: Settings, tmp_path: Path) -> None:
    ca = new_console_ca(settings)
    foreign = new_console_ca(Settings(state_dir=tmp_path / "foreign")).client_ssl_context()
    foreign.load_verify_locations(ca.ca_file)
    with agent_server(ca, tmp_path) as port, pytest.raises((ssl.SSLError, ConnectionError)):
        greeting(foreign, port)


def test_console_refuses_an_agent_with_another_address(settings: Settings, tmp_path: Path) -> None:
    ca = new_console_ca(settings)
    with (
        agent_server(ca, tmp_path, addr="127.0.0.2") as port,
        pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.1"),
    ):
        greeting(ca.client_ssl_context(), port)


@pytest.mark.parametrize("days", [-1, -1000])
def test_console_refuses_an_expired_certificate_of_an_agent(settings: Settings, tmp_path: Path, days: int) -> None:
    authority = new_console_ca(settings)
    with (
        agent_server(authority, tmp_path, days=days) as port,
        pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"),
    ):
        greeting(authority.client_ssl_context(), port)


def test_agent_refuses_an_expired_certificate_of_the_console(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate_state, "PEER_DAYS", -1)
    authority = new_console_ca(settings)
    seen: list[bytes | None] = []
    with agent_server(authority, tmp_path, seen=seen) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            greeting(authority.client_ssl_context(), port)
        assert seen == []
        monkeypatch.undo()
        assert greeting(ConsoleCa(authority.state.renewed(), settings).client_ssl_context(), port) == b"welcome", (
            "the console renews it"
        )
