"""Tests of replacing the console CA: what each step trusts, presents and refuses, and which connections succeed."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from backend.tests.pki.test_console_ca import agent_server, greeting
from backend.tests.support.certificates import SignedCertificate, create_root_ca, sign, sign_intermediate_ca
from backend.tests.support.consoles.console_ca import client_file, new_console_ca, restarted
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.agent.cluster import key_generation as key
from shardboard.pki import tls
from shardboard.pki.certificate_state import CaRequest
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.intermediate_ca import validate_intermediate_ca
from shardboard.pki.signer import CertificateAuthority
from shardboard.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path / "state")


def announce(
    authority: ConsoleCa, signed: Callable[[ec.EllipticCurvePrivateKey], SignedCertificate], *above: SignedCertificate
) -> None:
    """Announce a CA signed by another CA, without checking it."""
    key = ec.generate_private_key(ec.SECP256R1())
    chain = (signed(key), *above)
    next_ca = CertificateAuthority(key, tuple(each.certificate for each in chain))
    authority.apply(authority.state.announcing(next_ca))


def certificate_in(authority: ConsoleCa, name: str) -> x509.Certificate:
    content = authority.state.client.encode() if name == "client" else authority.server_file.read_bytes()
    return x509.load_pem_x509_certificate(content)


def test_trusted_and_presented_certificates_during_replacement(settings: Settings) -> None:
    ca = new_console_ca(settings)
    before = ca.current
    assert (ca.step, ca.trusted, ca.bundle) == ("", before.pem, before.pem)
    ca.apply(ca.state.announcing())
    after = ca.state.next_ca
    assert after is not None
    assert (ca.step, ca.trusted, ca.bundle) == ("announced", *[before.pem + after.pem] * 2)
    assert tls.signing_key_of(certificate_in(ca, "server")) == before.key_id
    assert ca.renew() is False
    ca.apply(ca.state.switched())
    assert ca.renew() is True
    assert (ca.step, ca.trusted, ca.ca_pem) == ("served", after.pem + before.pem, after.pem)
    assert {tls.signing_key_of(certificate_in(ca, name)) for name in ("server", "client")} == {after.key_id}
    ca.apply(ca.state.without_former())
    assert (ca.step, ca.trusted, ca.bundle) == ("", after.pem, after.pem)
    assert restarted(ca, settings).trusted == after.pem
    with pytest.raises(ValueError, match="no CA was announced"):
        ca.state.switched()


def test_announced_ca_can_be_withdrawn(settings: Settings) -> None:
    ca = new_console_ca(settings)
    before = ca.trusted
    ca.apply(ca.state.announcing())
    ca.apply(ca.state.withdrawn())
    assert (ca.step, ca.trusted) == ("", before)
    assert restarted(ca, settings).trusted == before


def test_revoked_certificates_stay_refused_while_the_ca_is_replaced(settings: Settings, tmp_path: Path) -> None:
    """Certificates of the former CA are checked as well. After the replacement none of them is accepted."""
    ca = new_console_ca(settings)
    ca.apply(ca.state.announcing())
    with agent_server(ca, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        ca.apply(ca.state.switched())
        ca.renew()
        assert greeting(ca.client_ssl_context(), port) == b"welcome"
        ca.reject_certificates({own})
        for again in (ca, restarted(ca, settings)):
            again.reject_certificates({own})
            with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
                greeting(again.client_ssl_context(), port)
        ca.reject_certificates(set())
        ca.apply(ca.state.without_former())
        with pytest.raises(ssl.SSLCertVerificationError, match=r"self-signed|unable to get local"):
            greeting(ca.client_ssl_context(), port)


def test_ca_signed_by_an_external_ca(settings: Settings, tmp_path: Path) -> None:
    """Only the CA itself is trusted. Clients that trust the root receive the intermediate certificates."""
    ca = new_console_ca(settings)
    top = create_root_ca()
    request = CaRequest.create("Shardboard CA", "Example")
    intermediate = sign_intermediate_ca(top, request.key)
    ca.apply(ca.state.announcing(validate_intermediate_ca(intermediate.pem + top.pem, request, ca.current, ca.names)))
    ca.apply(ca.state.switched())
    ca.renew()
    ca.apply(ca.state.without_former())
    assert ca.ca_fingerprint() == intermediate.certificate.fingerprint(hashes.SHA256()).hex()
    assert ca.bundle == ca.ca_file.read_text() == intermediate.pem + top.pem
    assert ca.trusted == ca.ca_pem == intermediate.pem, (
        "the root is not trusted: its other certificates must not be accepted"
    )
    with agent_server(ca, tmp_path) as port:
        assert greeting(ca.client_ssl_context(), port) == b"welcome"
        outside = ssl.create_default_context(cadata=top.pem)
        outside.load_cert_chain(client_file(ca, tmp_path))
        assert greeting(outside, port) == b"welcome"
        other_certificate = sign("stranger", top, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
        (tmp_path / "stranger.pem").write_text(other_certificate.pem + other_certificate.key_pem)
        outside.load_cert_chain(tmp_path / "stranger.pem")
        with pytest.raises(OSError, match=r"(?i)alert|reset"):
            greeting(outside, port)
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        ca.reject_certificates({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(ca.client_ssl_context(), port)


def test_certificates_expire_with_the_ca_and_are_not_renewed_before(settings: Settings) -> None:
    ca = new_console_ca(settings)
    announce(ca, lambda key: sign_intermediate_ca(create_root_ca(), key, valid_until=timedelta(days=20)))
    ca.apply(ca.state.switched())
    assert ca.renew() is True
    expiries = {certificate_in(ca, name).not_valid_after_utc for name in ("server", "client")}
    assert expiries == {ca.valid_until}
    assert ca.renew() is False
    agent_certificate = x509.load_pem_x509_certificate(ca.sign_agent(key.generate()[1], "127.0.0.1").encode())
    signing_key = tls.signing_key_of(agent_certificate)
    assert not ca.state.is_due(agent_certificate.not_valid_after_utc, signing_key, tls.PEER_DAYS, datetime.now(UTC))
    assert ca.state.is_due(agent_certificate.not_valid_after_utc, "another", tls.PEER_DAYS, datetime.now(UTC))


def test_two_cas_with_the_same_name_are_distinguished_by_their_keys(settings: Settings, tmp_path: Path) -> None:
    """Each CA has its own revocation list."""
    ca, top = new_console_ca(settings), create_root_ca()

    def signed_with(key: ec.EllipticCurvePrivateKey) -> SignedCertificate:
        return sign_intermediate_ca(top, key, x509.SubjectKeyIdentifier.from_public_key(key.public_key()))

    announce(ca, signed_with, top)
    ca.apply(ca.state.switched())
    ca.renew()
    ca.apply(ca.state.without_former())
    announce(ca, signed_with, top)
    with agent_server(ca, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        ca.apply(ca.state.switched())
        ca.renew()
        assert greeting(ca.client_ssl_context(), port) == b"welcome"
        ca.reject_certificates({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(ca.client_ssl_context(), port)


def test_expired_ca_signs_expired_certificates(settings: Settings) -> None:
    """The console starts nevertheless."""
    ca = new_console_ca(settings)
    announce(ca, lambda key: sign_intermediate_ca(create_root_ca(), key, valid_until=timedelta(hours=-2)))
    ca.apply(ca.state.switched())
    reloaded = restarted(ca, settings)
    assert certificate_in(reloaded, "server").not_valid_after_utc == reloaded.valid_until
    assert reloaded.renew() is False
