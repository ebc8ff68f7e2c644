"""Certificates of a database's shards: whom they let in, and how they are renewed."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from shardboard.shard_certificates import DAYS, NAME, RENEW_DAYS, ShardCertificates


def shake(server: ShardCertificates, client: ShardCertificates, directory: Path) -> None:
    """Raises ssl.SSLError unless they let each other in."""

    def context(own: ShardCertificates, protocol: int) -> ssl.SSLContext:
        (directory / "ca.pem").write_text(own.authority)
        (directory / "own.pem").write_text(own.certificate + own.key)
        made = ssl.SSLContext(protocol)
        made.minimum_version = ssl.TLSVersion.TLSv1_3
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(directory / "ca.pem")
        made.load_cert_chain(directory / "own.pem")
        return made

    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = context(client, ssl.PROTOCOL_TLS_CLIENT).wrap_bio(back, there, server_hostname=NAME)
    far = context(server, ssl.PROTOCOL_TLS_SERVER).wrap_bio(there, back, server_side=True)
    waiting = {near, far}
    for _ in range(10):
        for side in waiting.copy():
            try:
                side.do_handshake()
                waiting.discard(side)
            except ssl.SSLWantReadError:
                pass
    assert not waiting


def test_members_of_one_database_let_each_other_in_and_nobody_else(tmp_path: Path) -> None:
    own, other = ShardCertificates.issue(), ShardCertificates.issue()
    shake(own, own, tmp_path)
    with pytest.raises(ssl.SSLError):
        shake(own, other, tmp_path)


def test_old_and_new_let_each_other_in(tmp_path: Path) -> None:
    old = ShardCertificates.issue()
    new = old.renewed()
    assert (new.authority, new.number) == (old.authority, 2)
    assert new.certificate != old.certificate
    assert new.key != old.key
    shake(old, new, tmp_path)
    shake(new, old, tmp_path)


def test_what_is_stored_is_read_again() -> None:
    own = ShardCertificates.issue()
    assert ShardCertificates.read(own.stored()) == own


def test_keys_are_not_shown() -> None:
    assert "PRIVATE" not in repr(ShardCertificates.issue())


def test_they_are_renewed_a_month_before_they_end() -> None:
    own, now = ShardCertificates.issue(), datetime.now(UTC)
    assert own.ends - now > timedelta(days=DAYS) - timedelta(minutes=5)
    assert not own.is_due(own.ends - timedelta(days=RENEW_DAYS, seconds=1))
    assert own.is_due(own.ends - timedelta(days=RENEW_DAYS) + timedelta(seconds=1))
    authority = x509.load_pem_x509_certificate(own.authority.encode())
    assert authority.not_valid_after_utc > now + timedelta(days=3000)
