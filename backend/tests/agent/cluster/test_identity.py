"""Tests of loading the identity of an agent from the files of an earlier process."""

import dataclasses
import errno
import ssl
from pathlib import Path

import pytest
from backend.tests.agent.test_app import identity_of

from shardboard.agent.cluster import key_generation
from shardboard.agent.cluster.identity import AgentPort, CertificateRenewal, EnrolError, load
from shardboard.contract import AgentCertificate
from shardboard.pki.console_ca import ConsoleCa
from shardboard.settings import Settings


@pytest.fixture
def authority(tmp_path: Path) -> ConsoleCa:
    return ConsoleCa.load(Settings(state_dir=tmp_path / "console"))


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

    async def record_update() -> None:
        updates.append(identity.certificate.read_text())

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
