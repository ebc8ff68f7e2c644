"""The console's authority in the steps of being replaced: what is trusted, shown and refused, and who gets through."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from backend.tests.certificates import Signed, below, root, sign
from backend.tests.test_authority import agent_server, greeting
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard import tls
from shardboard.agent import key
from shardboard.authority import Authority
from shardboard.external_authority import accepted
from shardboard.settings import Settings
from shardboard.signer import Signer


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path / "state")


def announce(authority: Authority, signed: Callable[[ec.EllipticCurvePrivateKey], Signed], *above: Signed) -> None:
    """One that somebody else signed, without a look at it."""
    request = authority.request("Shardboard CA", "")
    chain = (signed(request.key), *above)
    authority.announce(Signer(request.key, tuple(each.certificate for each in chain)))


def shown_by(authority: Authority, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((authority.directory / f"{name}.pem").read_bytes())


def test_what_is_trusted_and_shown_in_every_step(settings: Settings) -> None:
    authority = Authority.load(settings)
    before = authority.present
    assert (authority.step, authority.trusted, authority.bundle) == ("", before.pem, before.pem)
    after = authority.announce()
    assert (authority.step, authority.trusted, authority.bundle) == ("announced", *[before.pem + after.pem] * 2)
    assert tls.signing_key_of(shown_by(authority, "server")) == before.key_id
    assert authority.renew() is False
    authority.switch()
    assert authority.renew() is True
    assert (authority.step, authority.trusted, authority.ca_pem) == ("shown", after.pem + before.pem, after.pem)
    assert {tls.signing_key_of(shown_by(authority, name)) for name in ("server", "client")} == {after.key_id}
    authority.forget()
    assert (authority.step, authority.trusted, authority.bundle) == ("", after.pem, after.pem)
    assert Authority.load(settings).trusted == after.pem
    with pytest.raises(ValueError, match="no CA was announced"):
        authority.switch()


def test_what_was_announced_can_be_withdrawn(settings: Settings) -> None:
    authority = Authority.load(settings)
    before = authority.trusted
    authority.announce()
    authority.withdraw()
    assert (authority.step, authority.trusted) == ("", before)
    assert Authority.load(settings).trusted == before


def test_certificates_that_are_refused_stay_refused_while_the_authority_is_replaced(
    settings: Settings, tmp_path: Path
) -> None:
    """Of the former authority as well, and no others of it; none of it afterwards."""
    authority = Authority.load(settings)
    authority.announce()
    with agent_server(authority, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        authority.switch()
        authority.renew()
        assert greeting(authority.client_ssl_context(), port) == b"welcome"
        authority.refuse({own})
        for again in (authority, Authority.load(settings)):
            again.refuse({own})
            with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
                greeting(again.client_ssl_context(), port)
        authority.refuse(set())
        authority.forget()
        with pytest.raises(ssl.SSLCertVerificationError, match=r"self-signed|unable to get local"):
            greeting(authority.client_ssl_context(), port)


def test_below_somebody_elses_authority(settings: Settings, tmp_path: Path) -> None:
    """It is trusted by itself; who trusts the root is shown what is between."""
    authority = Authority.load(settings)
    top = root()
    request = authority.request("Shardboard CA", "Example")
    made = below(top, request.key)
    authority.announce(accepted(made.pem + top.pem, request, authority.present, authority.names))
    authority.switch()
    authority.renew()
    authority.forget()
    assert authority.ca_fingerprint() == made.certificate.fingerprint(hashes.SHA256()).hex()
    assert authority.bundle == authority.ca_file.read_text() == made.pem + top.pem
    assert authority.trusted == authority.ca_pem == made.pem, "not the root: what else that signs opens nothing"
    with agent_server(authority, tmp_path) as port:
        assert greeting(authority.client_ssl_context(), port) == b"welcome"
        outside = ssl.create_default_context(cadata=top.pem)
        outside.load_cert_chain(authority.directory / "client.pem")
        assert greeting(outside, port) == b"welcome"
        stranger = sign("stranger", top, usage=ExtendedKeyUsageOID.CLIENT_AUTH)
        (tmp_path / "stranger.pem").write_text(stranger.pem + stranger.key)
        outside.load_cert_chain(tmp_path / "stranger.pem")
        with pytest.raises(OSError, match=r"(?i)alert|reset"):
            greeting(outside, port)
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        authority.refuse({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(authority.client_ssl_context(), port)


def test_nothing_holds_for_longer_than_the_authority_nor_is_renewed_for_that(settings: Settings) -> None:
    authority = Authority.load(settings)
    announce(authority, lambda key: below(root(), key, ends=timedelta(days=20)))
    authority.switch()
    assert authority.renew() is True
    ends = {shown_by(authority, name).not_valid_after_utc for name in ("server", "client")}
    assert ends == {authority.ends}
    assert authority.renew() is False
    agents = x509.load_pem_x509_certificate(authority.sign_agent(key.fresh()[1], "127.0.0.1").encode())
    told = tls.signing_key_of(agents)
    assert not authority.is_due(agents.not_valid_after_utc, told, tls.PEER_DAYS, datetime.now(UTC))
    assert authority.is_due(agents.not_valid_after_utc, "another", tls.PEER_DAYS, datetime.now(UTC))


def test_two_authorities_of_one_name_are_told_apart_by_their_keys(settings: Settings, tmp_path: Path) -> None:
    """Each has a list of what is refused."""
    authority, top = Authority.load(settings), root()

    def named(key: ec.EllipticCurvePrivateKey) -> Signed:
        return below(top, key, x509.SubjectKeyIdentifier.from_public_key(key.public_key()))

    announce(authority, named, top)
    authority.switch()
    authority.renew()
    authority.forget()
    announce(authority, named, top)
    with agent_server(authority, tmp_path) as port:
        own = tls.serial_of((tmp_path / "agent-127.0.0.1.pem").read_text())
        authority.switch()
        authority.renew()
        assert greeting(authority.client_ssl_context(), port) == b"welcome"
        authority.refuse({own})
        with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
            greeting(authority.client_ssl_context(), port)


def test_one_that_has_ended_signs_what_has_ended(settings: Settings) -> None:
    """The console starts, whatever may be missing."""
    authority = Authority.load(settings)
    announce(authority, lambda key: below(root(), key, ends=timedelta(hours=-2)))
    authority.switch()
    again = Authority.load(settings)
    assert shown_by(again, "server").not_valid_after_utc == again.ends
    assert again.renew() is False
