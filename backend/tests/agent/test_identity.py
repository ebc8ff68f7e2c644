"""What an agent knows of itself after a start, whatever an earlier one left."""

import dataclasses
import errno
import ssl
from pathlib import Path

import pytest
from backend.tests.agent.test_app import identity_of

from shardboard.agent import key
from shardboard.agent.contract import AgentCertificate
from shardboard.agent.identity import EnrolError, Port, Renewal, load
from shardboard.authority import Authority
from shardboard.settings import Settings


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.load(Settings(state_dir=tmp_path / "console"))


def loads(path: Path) -> None:
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


def test_before_it_has_joined(tmp_path: Path) -> None:
    assert load(tmp_path) is None


def test_a_damaged_marker_is_told(tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text("{}")
    with pytest.raises(EnrolError, match="remove it"):
        load(tmp_path)


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_key_beside_the_certificate_of_an_earlier_release(
    tmp_path: Path, authority: Authority, interrupted: bool
) -> None:
    identity = identity_of(tmp_path, authority)
    pair = identity.certificate.read_text()
    border = pair.index("-----BEGIN PRIVATE KEY")
    alone = identity.certificate.with_suffix(".key")
    alone.write_text(pair[border:])
    if not interrupted:
        identity.certificate.write_text(pair[:border])
    assert load(tmp_path) == identity
    assert identity.certificate.read_text() == pair
    assert not alone.exists()
    loads(identity.certificate)


def test_a_key_that_was_left_when_the_node_joined_again(tmp_path: Path, authority: Authority) -> None:
    stale = identity_of(tmp_path / "before", authority).certificate.read_text()
    identity = identity_of(tmp_path, authority)
    identity.certificate.with_suffix(".key").write_text(stale[stale.index("-----BEGIN PRIVATE KEY") :])
    assert load(tmp_path) == identity
    loads(identity.certificate)


def test_what_the_console_would_say(tmp_path: Path, authority: Authority) -> None:
    assert identity_of(tmp_path / "good", authority).flaw() == ""
    assert "expired" in identity_of(tmp_path / "over", authority, days=0).flaw()
    moved = identity_of(tmp_path / "moved", authority)
    assert "mismatch" in dataclasses.replace(moved, addr="127.0.0.9").flaw()


def test_files_that_cannot_be_used(tmp_path: Path, authority: Authority) -> None:
    identity = identity_of(tmp_path, authority)
    identity.certificate.write_bytes(b"\xff nonsense")
    assert "cannot be used" in identity.flaw()
    with pytest.raises(EnrolError, match=r"remove agent\.json"):
        identity.context()
    identity.certificate.unlink()
    assert "cannot be used" in identity.flaw()
    with pytest.raises(EnrolError, match=r"remove agent\.json"):
        identity.context()


def test_a_key_that_cannot_be_moved_serves_where_it_is(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    identity = identity_of(tmp_path, authority)
    certificate, border, private = identity.certificate.read_text().partition("-----BEGIN P")
    identity.certificate.write_text(certificate)
    alone = identity.certificate.with_suffix(".key")
    alone.write_text(border + private)
    monkeypatch.setattr("shardboard.agent.identity.write_private", full)
    found = load(tmp_path)
    assert found is not None
    assert "No space left" in caplog.text
    assert (found.key, found.flaw()) == (alone, "")
    found.context()
    monkeypatch.undo()
    load(tmp_path)
    assert (found.key, found.flaw(), alone.exists()) == (found.certificate, "", False)


async def test_who_else_shows_the_certificate_is_told_of_another_one(tmp_path: Path, authority: Authority) -> None:
    identity = identity_of(tmp_path, authority)
    renewal, told = Renewal(identity, Port(identity)), []

    async def read_again() -> None:
        told.append(identity.certificate.read_text())

    renewal.also_shown_by(read_again)
    wrong = AgentCertificate(certificate=authority.sign_agent(key.fresh()[1], identity.addr))
    assert (await renewal.take(wrong)).refused
    request = await renewal.request()
    assert (await renewal.take(wrong)).refused
    assert told == []
    good = authority.sign_agent(request.csr, identity.addr)
    assert (await renewal.take(AgentCertificate(certificate=good))).refused == ""
    [shown] = told
    assert shown.startswith(good)
