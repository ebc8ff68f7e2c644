"""Tests of replacing the console CA: what each step trusts, presents and refuses, and which connections succeed."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from backend.tests.pki.test_console_ca import agent_server, greeting
from backend.tests.support.certificates import SignedCertificate, create_root_ca, sign, sign_intermediate_ca
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.agent.cluster import key_generation as key
from shardboard.pki import tls
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
    request = authority.request("Shardboard CA", "")
    chain = (signed(request.key), *above)
    authority.announce(CertificateAuthority(request.key, tuple(each.certificate for each in chain)))


def certificate_in(authority: ConsoleCa, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((authority.directory / f"{name}.pem").read_bytes())


def test_trusted_and_presented_certificates_during_replacement(settings: Settings) -> None:
    authority = ConsoleCa.load(settings)
    before = authority.current
    assert (authority.step, authority.trusted, authority.bundle) == ("", before.pem, before.pem)
    after = authority.announce()
    assert (authority.step, authority.trusted, authority.bundle) == ("announced", *[before.pem + after.pem] * 2)
    assert tls.signing_key_of(certificate_in(authority, "server")) == before.key_id
    assert authority.renew() is False
    authority.switch()
    assert authority.renew() is True
    assert (authority.step, authority.trusted, authority.ca_pem) == ("shown", after.pem + before.pem, after.pem)
    assert {tls.signing_key_of(certificate_in(authority, name)) for name in ("server", "client")} == {after.key_id}
    authority.remove_former()
    assert (authority.step, authority.trusted, authority.bundle) == ("", after.pem, after.pem)
    assert ConsoleCa.load(settings).trusted == after.pem
    with pytest.raises(ValueError, match="no CA was announced"):
        authority.switch()


def test_announced_ca_can_be_withdrawn(settings: Settings) -> None:
    authority = ConsoleCa.load(settings)
    before = authority.trusted
    authority.announce()
    authority.withdraw()
    assert (authority.step, authority.trusted) == ("", before)
    assert ConsoleCa.load(settings).trusted == before


def test_revoked_certificates_stay_refused_while_the_ca_is_replaced(settings: Settings, tmp_path: Path) -> None:
    """Certificates of the former CA are checked as well. After the replacement none of them is accepted."""
    authority = ConsoleCa.load(settings)
    authority.announce()
    with agent_server(authority, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        authority.switch()
        authority.renew()
        assert greeting(authority.client_ssl_context(), port) == b"welcome"
        authority.reject_certificates({own})
        for again in (authority, ConsoleCa.load(settings)):
            again.reject_certificates({own})
            with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
                greeting(again.client_ssl_context(), port)
        authority.reject_certificates(set())
        authority.remove_former()
        with pytest.raises(ssl.SSLCertVerificationError, match=r"self-signed|unable to get local"):
            greeting(authority.client_ssl_context(), port)


def test_ca_signed_by_an_external_ca(settings: Settings, tmp_path: Path) -> None:
    """Only the CA itself is trusted. Clients that trust the root receive the intermediate certificates."""
    authority = ConsoleCa.load(settings)
    top = create_root_ca()
    request = authority.request("Shardboard CA", "Example")
    made = sign_intermediate_ca(top, request.key)
    authority.announce(validate_intermediate_ca(made.pem + top.pem, request, authority.current, authority.names))
    authority.switch()
    authority.renew()
    authority.remove_former()
    assert authority.ca_fingerprint() == made.certificate.fingerprint(hashes.SHA256()).hex()
    assert authority.bundle == authority.ca_file.read_text() == made.pem + top.pem
    assert authority.trusted == authority.ca_pem == made.pem, (
        "the root is not trusted: its other certificates must not be accepted"
    )
    with agent_server(authority, tmp_path) as port:
        assert greeting(authority.client_ssl_context(), port) == b"welcome"
        outside = ssl.create_default_context(cadata=top.pem)
        outside.load_cert_chain(authority.directory / "client.pem")
        assert greeting(outside, port) == b"welcome"
        stranger = sign("stranger", top, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
        (tmp_path / "stranger.pem").write_text(stranger.pem + stranger.key_pem)
        outside.load_cert_chain(tmp_path / "stranger.pem")
        with pytest.raises(OSError, match=r"(?i)alert|reset"):
            greeting(outside, port)
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        authority.reject_certificates({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(authority.client_ssl_context(), port)


def test_certificates_expire_with_the_ca_and_are_not_renewed_before(settings: Settings) -> None:
    authority = ConsoleCa.load(settings)
    announce(authority, lambda key: sign_intermediate_ca(create_root_ca(), key, valid_until=timedelta(days=20)))
    authority.switch()
    assert authority.renew() is True
    ends = {certificate_in(authority, name).not_valid_after_utc for name in ("server", "client")}
    assert ends == {authority.valid_until}
    assert authority.renew() is False
    agent_certificate = x509.load_pem_x509_certificate(authority.sign_agent(key.generate()[1], "127.0.0.1").encode())
    signing_key = tls.signing_key_of(agent_certificate)
    assert not authority.is_due(agent_certificate.not_valid_after_utc, signing_key, tls.PEER_DAYS, datetime.now(UTC))
    assert authority.is_due(agent_certificate.not_valid_after_utc, "another", tls.PEER_DAYS, datetime.now(UTC))


def test_two_cas_with_the_same_name_are_distinguished_by_their_keys(settings: Settings, tmp_path: Path) -> None:
    """Each CA has its own revocation list."""
    authority, top = ConsoleCa.load(settings), create_root_ca()

    def named(key: ec.EllipticCurvePrivateKey) -> SignedCertificate:
        return sign_intermediate_ca(top, key, x509.SubjectKeyIdentifier.from_public_key(key.public_key()))

    announce(authority, named, top)
    authority.switch()
    authority.renew()
    authority.remove_former()
    announce(authority, named, top)
    with agent_server(authority, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        authority.switch()
        authority.renew()
        assert greeting(authority.client_ssl_context(), port) == b"welcome"
        authority.reject_certificates({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(authority.client_ssl_context(), port)


def test_expired_ca_signs_expired_certificates(settings: Settings) -> None:
    """The console starts nevertheless."""
    authority = ConsoleCa.load(settings)
    announce(authority, lambda key: sign_intermediate_ca(create_root_ca(), key, valid_until=timedelta(hours=-2)))
    authority.switch()
    again = ConsoleCa.load(settings)
    assert certificate_in(again, "server").not_valid_after_utc == again.valid_until
    assert again.renew() is False
