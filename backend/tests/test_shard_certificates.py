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
        (directory / "ca.pem").write_text(own.trusted)
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


def steps() -> list[ShardCertificates]:
    """Before the authority is replaced, and with each step of it."""
    made = [ShardCertificates.issue()]
    made.append(made[0].replaced("192.0.2.7"))
    while made[-1].replacing:
        made.append(made[-1].advanced())
    return made


def test_whoever_is_one_step_behind_is_let_in_and_in_the_end_nothing_of_before(tmp_path: Path) -> None:
    before, announced, shown, forgotten, settled = steps()
    assert [each.replacing for each in steps()] == ["", "announced", "shown", "forgotten", ""]
    assert [each.number for each in steps()] == [1, 2, 3, 4, 4]
    for one, other in [(before, announced), (announced, shown), (shown, forgotten), (forgotten, settled)]:
        shake(one, other, tmp_path)
        shake(other, one, tmp_path)
    for left in (before, announced):
        for one, other in [(left, settled), (settled, left)]:
            with pytest.raises(ssl.SSLError):
                shake(one, other, tmp_path)
    kept = announced.next_authority, announced.next_authority_key
    assert (settled.authority, settled.authority_key, settled.left) == (*kept, "")
    assert before.authority_key not in str(shown.stored())


def test_renewing_the_certificate_changes_no_step() -> None:
    for each in steps():
        renewed = each.renewed()
        assert (renewed.trusted, renewed.replacing, renewed.number) == (each.trusted, each.replacing, each.number + 1)


def test_who_leaves_while_it_is_replaced_has_no_certificate_that_stays() -> None:
    before, announced, shown, forgotten, settled = steps()
    assert announced.replaced("192.0.2.8").number == announced.number, "it had nothing of the next one"
    assert announced.replaced("192.0.2.8").left == "192.0.2.7 192.0.2.8"
    for had in (shown, forgotten):
        again = had.replaced("192.0.2.8")
        while again.replacing:
            again = again.advanced()
        assert again.authority not in (before.authority, had.authority)
    assert settled.replaced().replacing == "announced"


def test_an_authority_is_replaced_a_year_before_its_end() -> None:
    own = ShardCertificates.issue()
    ends = x509.load_pem_x509_certificate(own.authority.encode()).not_valid_after_utc
    assert not own.is_authority_due(ends - timedelta(days=366))
    assert own.is_authority_due(ends - timedelta(days=364))
    assert not own.replaced().is_authority_due(ends - timedelta(days=364))


def test_what_is_stored_is_read_again() -> None:
    for each in steps():
        assert ShardCertificates.read(each.stored()) == each
    # The release before reads what is not being replaced.
    assert steps()[-1].stored().keys() == {"authority", "authority_key", "certificate", "key", "number"}


def test_keys_are_not_shown() -> None:
    assert not [each for each in steps() if "PRIVATE" in repr(each)]


def test_they_are_renewed_a_month_before_they_end() -> None:
    own, now = ShardCertificates.issue(), datetime.now(UTC)
    assert own.ends - now > timedelta(days=DAYS) - timedelta(minutes=5)
    assert not own.is_due(own.ends - timedelta(days=RENEW_DAYS, seconds=1))
    assert own.is_due(own.ends - timedelta(days=RENEW_DAYS) + timedelta(seconds=1))
    authority = x509.load_pem_x509_certificate(own.authority.encode())
    assert authority.not_valid_after_utc > now + timedelta(days=3000)
