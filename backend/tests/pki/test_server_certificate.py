"""Tests of the certificate that the console's port serves: its own, an installed one, or the one in the settings. They use real
sockets."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from backend.tests.support.certificates import SignedCertificate, sign
from backend.tests.support.consoles.console_ca import new_console_ca, restarted
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given as given_some
from hypothesis import strategies as st

from shardboard.contract.protocol import CONSOLE_NAME
from shardboard.errors import ApiError, BadRequest, Conflict, NotAcceptable
from shardboard.pki import console_ca as authorities
from shardboard.pki import tls
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.server_certificate import ServerCertificate, validate_identity
from shardboard.settings import Settings

ADDRESS = "127.0.0.1"
INTACT = sign("intact")
GetCertificate = Callable[[str | None], Awaitable[x509.Certificate]]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path / "state")


def opened(settings: Settings) -> ServerCertificate:
    return ServerCertificate(new_console_ca(settings), settings)


def install(ca: ConsoleCa, signed: SignedCertificate) -> None:
    ca.apply(ca.state.installing(validate_identity(signed.pem, signed.key_pem).stored()))


@asynccontextmanager
async def serving(certificate: ServerCertificate) -> AsyncIterator[GetCertificate]:
    """Run a server with this certificate, and yield a function that returns the certificate it serves."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(greet, ADDRESS, 0, ssl=certificate.context)
    port = server.sockets[0].getsockname()[1]
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE

    async def get_served(name: str | None = None) -> x509.Certificate:
        _, writer = await asyncio.open_connection(ADDRESS, port, ssl=unverified, server_hostname=name or ADDRESS)
        certificate_der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return x509.load_der_x509_certificate(certificate_der)

    async with server:
        yield get_served


async def test_installed_certificate_is_served_immediately_and_after_a_restart(settings: Settings) -> None:
    certificate = ServerCertificate(ca := new_console_ca(settings), settings)
    own = certificate.identity.chain[0]
    first, second = sign("ec"), sign("rsa", key=rsa.generate_private_key(65537, 2048))
    async with serving(certificate) as get_served:
        assert await get_served(None) == own
        for signed in (first, second, first):  # with different key types: the context must not keep both
            install(ca, signed)
            assert (await get_served(None), await get_served("console.example.com")) == (
                signed.certificate,
                signed.certificate,
            )
            assert await get_served(CONSOLE_NAME) == own
        assert certificate.expiries == {
            "server": first.certificate.not_valid_after_utc,
            "ca": certificate.expiries["ca"],
        }
    reloaded = ServerCertificate(ca := restarted(ca, settings), settings)
    assert (reloaded.source, reloaded.identity.chain[0]) == ("installed", first.certificate)
    async with serving(reloaded) as get_served:
        assert await get_served(None) == first.certificate
        ca.apply(ca.state.installing(None))
        assert (reloaded.source, await get_served(None)) == ("own", own)
    assert not list(ca.directory.glob("installed*")), "its key is only in the store"


def test_damaged_installed_certificate_does_not_prevent_startup(settings: Settings) -> None:
    ca = new_console_ca(settings)
    ca.apply(ca.state.installing(sign("mine").pem))  # without its key
    assert ServerCertificate(ca, settings).source == "own"


async def test_own_certificate_is_renewed_automatically(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorities, "SERVER_DAYS", tls.RENEW_DAYS - 1)
    certificate = opened(settings)
    monkeypatch.undo()
    async with serving(certificate) as get_served:
        before = await get_served(None)
        certificate.refresh()
        after = await get_served(None)
        assert (after == before, after) == (False, await get_served(CONSOLE_NAME))
        certificate.refresh()
        assert await get_served(None) == after
    assert certificate.expiries["server"] == after.not_valid_after_utc


def test_own_certificate_is_renewed_while_another_is_installed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorities, "SERVER_DAYS", tls.RENEW_DAYS - 1)
    certificate, signed = ServerCertificate(ca := new_console_ca(settings), settings), sign("mine")
    install(ca, signed)
    monkeypatch.undo()
    certificate.refresh()
    assert certificate.identity.chain[0] == signed.certificate
    ca.apply(ca.state.installing(None))
    assert certificate.expiries["server"] > datetime.now(UTC) + timedelta(days=tls.SERVER_DAYS - 1)


def replace(path: Path, content: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(content)
    part.replace(path)


@pytest.fixture
def configured(settings: Settings, tmp_path: Path) -> Settings:
    signed = sign("configured")
    (tmp_path / "a.pem").write_text(signed.pem)
    (tmp_path / "a.key").write_text(signed.key_pem)
    return settings.model_copy(update={"tls_cert": tmp_path / "a.pem", "tls_key": tmp_path / "a.key"})


async def test_certificate_of_the_settings_is_reloaded(
    configured: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, fresh = opened(configured), sign("fresh")
    assert certificate.source == "settings"
    async with serving(certificate) as get_served:
        before = await get_served(None)
        replace(tmp_path / "a.pem", fresh.pem)  # its key is still missing
        for _ in range(3):
            certificate.refresh()
            assert await get_served(None) == before
        assert len([each for each in caplog.records if "is not usable" in each.message]) == 1
        replace(tmp_path / "a.key", fresh.key_pem)
        certificate.refresh()
        assert await get_served(None) == fresh.certificate


def test_certificate_of_the_settings_takes_precedence(configured: Settings) -> None:
    certificate = ServerCertificate(ca := new_console_ca(configured), configured)
    served = certificate.identity
    install(ca, sign("mine"))  # by another console without these settings
    for each in (certificate, ServerCertificate(ca, configured)):
        assert (each.source, each.identity.fingerprint) == ("settings", served.fingerprint)
    with pytest.raises(Conflict, match="SHARDBOARD_TLS_CERT"):
        certificate.check_not_configured()


@pytest.mark.parametrize(
    "case", ["reversed chain", "unrelated certificate", "weak", "no names", "for clients", "expired"]
)
def test_certificate_of_the_settings_needs_only_to_be_usable(configured: Settings, tmp_path: Path, case: str) -> None:
    """Earlier releases served such certificates, so clients that trust them keep working."""
    certificate, key, *_ = invalid_certificates()[case]
    (tmp_path / "a.pem").write_text(certificate)
    (tmp_path / "a.key").write_text(key)
    if case in ("reversed chain", "weak"):  # no server can use these
        with pytest.raises(ValueError, match="SHARDBOARD_TLS_CERT"):
            opened(configured)
    else:
        assert opened(configured).source == "settings"


def test_unusable_settings_are_refused(configured: Settings, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be set together"):
        opened(configured.model_copy(update={"tls_key": None}))
    (tmp_path / "a.pem").write_text("none")
    with pytest.raises(ValueError, match=r"SHARDBOARD_TLS_CERT .* not a certificate in PEM"):
        opened(configured)
    (tmp_path / "a.pem").unlink()
    with pytest.raises(ValueError, match=r"SHARDBOARD_TLS_CERT .* No such file"):
        opened(configured)


def test_chain_is_used_unchanged(settings: Settings) -> None:
    root = sign("root", names=())
    leaf = sign("leaf", root, names=("b.example.com", "a.example.com"))
    identity = validate_identity(leaf.pem + root.pem, leaf.key_pem)
    assert (identity.chain, identity.names) == (
        (leaf.certificate, root.certificate),
        ["a.example.com", "b.example.com"],
    )
    assert (identity.subject, identity.issuer) == ("CN=leaf", "CN=root")
    ca = new_console_ca(settings)
    ca.apply(ca.state.installing(identity.stored()))
    assert ServerCertificate(ca, settings).identity == identity


def encrypted(signed: SignedCertificate) -> str:
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return signed.private_key.private_bytes(*form, serialization.BestAvailableEncryption(b"secret")).decode()


def invalid_certificates() -> dict[str, tuple[str, str, type[ApiError], str, str]]:
    root = sign("root", names=())
    leaf, other = sign("leaf", root), sign("other")
    weak = sign("weak", key=rsa.generate_private_key(65537, 1024))  # noqa: S505 - weak on purpose
    curve = sign("curve", key=ec.generate_private_key(ec.SECP224R1()))
    nameless, client = sign("nameless", names=()), sign("client", usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    old = sign("old", valid_from=timedelta(days=-9), valid_until=timedelta(seconds=-1))
    early = sign("early", valid_from=timedelta(days=1))
    old_root = sign("root", names=(), valid_from=timedelta(days=-9), valid_until=timedelta(seconds=-1))
    child = sign("below", old_root)
    return {
        "nothing": ("", leaf.key_pem, BadRequest, "certificate", "not a certificate in PEM"),
        "junk": ("junk", leaf.key_pem, BadRequest, "certificate", "not a certificate in PEM"),
        "no key": (leaf.pem, "", BadRequest, "key", "not a private key in PEM"),
        "key instead of certificate": (
            leaf.key_pem,
            leaf.key_pem,
            BadRequest,
            "certificate",
            "not a certificate in PEM",
        ),
        "passphrase": (leaf.pem, encrypted(leaf), BadRequest, "key", "passphrase"),
        "another key": (leaf.pem, other.key_pem, BadRequest, "key", "does not match CN=leaf"),
        "reversed chain": (root.pem + leaf.pem, leaf.key_pem, BadRequest, "key", "does not match CN=root"),
        "unrelated certificate": (leaf.pem + other.pem, leaf.key_pem, BadRequest, "certificate", "did not sign"),
        "weak": (weak.pem, weak.key_pem, BadRequest, "key", "too weak"),
        "weak curve": (curve.pem, curve.key_pem, BadRequest, "key", "too weak"),
        "no names": (nameless.pem, nameless.key_pem, BadRequest, "certificate", "does not contain a host name"),
        "for clients": (client.pem, client.key_pem, BadRequest, "certificate", "not for servers"),
        "expired": (old.pem, old.key_pem, NotAcceptable, "certificate", "CN=old expired"),
        "not yet valid": (early.pem, early.key_pem, NotAcceptable, "certificate", "is not valid before"),
        "expired issuer": (child.pem + old_root.pem, child.key_pem, NotAcceptable, "certificate", "CN=root expired"),
    }


@given_some(changes=st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), min_size=1, max_size=4))
def test_corrupted_certificates_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    der = bytearray(INTACT.certificate.public_bytes(serialization.Encoding.DER))
    for position, value in changes:
        der[position % len(der)] = value
    with contextlib.suppress(ApiError):
        validate_identity(ssl.DER_cert_to_PEM_cert(bytes(der)), INTACT.key_pem)


@pytest.mark.parametrize("case", list(invalid_certificates()))
def test_invalid_certificates_are_refused_with_the_reason(case: str) -> None:
    certificate, key, kind, field, message = invalid_certificates()[case]
    with pytest.raises(kind, match=message) as refusal:
        validate_identity(certificate, key)
    assert refusal.value.field == field
