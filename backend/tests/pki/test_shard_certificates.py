"""Tests of the certificates of a database's shards: which peers they accept, and how they are renewed."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from shardboard.pki import shard_certificates
from shardboard.pki.shard_certificates import DAYS, NAME, RENEW_DAYS, ShardCertificates


def handshake(server: ShardCertificates, client: ShardCertificates, directory: Path) -> None:
    """Perform a TLS handshake. Raise ssl.SSLError unless both sides accept each other."""

    def context(own: ShardCertificates, protocol: int) -> ssl.SSLContext:
        (directory / "ca.pem").write_text(own.trusted)
        (directory / "own.pem").write_text(own.certificate + own.key)
        tls_context = ssl.SSLContext(protocol)
        tls_context.minimum_version = ssl.TLSVersion.TLSv1_3
        tls_context.verify_mode = ssl.CERT_REQUIRED
        tls_context.load_verify_locations(directory / "ca.pem")
        tls_context.load_cert_chain(directory / "own.pem")
        return tls_context

    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = context(client, ssl.PROTOCOL_TLS_CLIENT).wrap_bio(to_client, to_server, server_hostname=NAME)
    server_side = context(server, ssl.PROTOCOL_TLS_SERVER).wrap_bio(to_server, to_client, server_side=True)
    sides = {client_side, server_side}
    for _ in range(10):
        for side in sides.copy():
            try:
                side.do_handshake()
                sides.discard(side)
            except ssl.SSLWantReadError:
                pass
    assert not sides


def test_only_shards_of_the_same_database_accept_each_other(tmp_path: Path) -> None:
    own, other = ShardCertificates.issue(), ShardCertificates.issue()
    handshake(own, own, tmp_path)
    with pytest.raises(ssl.SSLError):
        handshake(own, other, tmp_path)


def test_expired_certificates_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ShardCertificates.issue()
    monkeypatch.setattr(shard_certificates, "DAYS", -1)
    expired = own.with_new_certificate()
    for server, client in ((own, expired), (expired, own)):
        with pytest.raises(ssl.SSLError, match="expired"):
            handshake(server, client, tmp_path)


def test_old_and_renewed_certificates_accept_each_other(tmp_path: Path) -> None:
    old = ShardCertificates.issue()
    new = old.with_new_certificate()
    assert (new.ca, new.number) == (old.ca, 2)
    assert new.certificate != old.certificate
    assert new.key != old.key
    handshake(old, new, tmp_path)
    handshake(new, old, tmp_path)


def steps() -> list[ShardCertificates]:
    """Return the certificates before the CA is replaced, and after each step of the replacement."""
    certificates = [ShardCertificates.issue()]
    certificates.append(certificates[0].with_replacement("192.0.2.7"))
    while certificates[-1].replacement_step:
        certificates.append(certificates[-1].with_next_step())
    return certificates


def test_certificates_one_step_behind_are_accepted_but_not_old_ones(tmp_path: Path) -> None:
    before, announced, served, removed, settled = steps()
    assert [each.replacement_step for each in steps()] == ["", "announced", "served", "removed", ""]
    assert [each.number for each in steps()] == [1, 2, 3, 4, 4]
    for one, other in [(before, announced), (announced, served), (served, removed), (removed, settled)]:
        handshake(one, other, tmp_path)
        handshake(other, one, tmp_path)
    for certificates in (before, announced):
        for one, other in [(certificates, settled), (settled, certificates)]:
            with pytest.raises(ssl.SSLError):
                handshake(one, other, tmp_path)
    ca_pair = announced.next_ca, announced.next_ca_key
    assert (settled.ca, settled.ca_key, settled.removed_addresses) == (*ca_pair, "")
    assert before.ca_key not in str(served.stored())


def test_renewal_does_not_change_the_replacement_step() -> None:
    for each in steps():
        renewed = each.with_new_certificate()
        assert (renewed.trusted, renewed.replacement_step, renewed.number) == (
            each.trusted,
            each.replacement_step,
            each.number + 1,
        )


def test_node_removed_during_replacement_has_no_valid_certificate() -> None:
    before, announced, served, removed, settled = steps()
    assert announced.with_replacement("192.0.2.8").number == announced.number, "it had no certificate of the next CA"
    assert announced.with_replacement("192.0.2.8").removed_addresses == "192.0.2.7 192.0.2.8"
    for old_certificates in (served, removed):
        again = old_certificates.with_replacement("192.0.2.8")
        while again.replacement_step:
            again = again.with_next_step()
        assert again.ca not in (before.ca, old_certificates.ca)
    assert settled.with_replacement().replacement_step == "announced"


def test_ca_is_replaced_a_year_before_it_expires() -> None:
    own = ShardCertificates.issue()
    expiry = x509.load_pem_x509_certificate(own.ca.encode()).not_valid_after_utc
    assert not own.is_ca_due(expiry - timedelta(days=366))
    assert own.is_ca_due(expiry - timedelta(days=364))
    assert not own.with_replacement().is_ca_due(expiry - timedelta(days=364))


def test_stored_certificates_are_read_unchanged() -> None:
    for each in steps():
        assert ShardCertificates.read(each.stored()) == each
    assert steps()[-1].stored().keys() == {"ca", "ca_key", "certificate", "key", "number"}, "defaults are not stored"


def test_repr_does_not_contain_keys() -> None:
    assert not [each for each in steps() if "PRIVATE" in repr(each)]


def test_certificates_are_renewed_a_month_before_they_expire() -> None:
    own, now = ShardCertificates.issue(), datetime.now(UTC)
    assert own.valid_until - now > timedelta(days=DAYS) - timedelta(minutes=5)
    assert not own.is_due(own.valid_until - timedelta(days=RENEW_DAYS, seconds=1))
    assert own.is_due(own.valid_until - timedelta(days=RENEW_DAYS) + timedelta(seconds=1))
    ca = x509.load_pem_x509_certificate(own.ca.encode())
    assert ca.not_valid_after_utc > now + timedelta(days=3000)
