"""Tests of the CA files: if the console is killed at any point, it finds the previous or the next CA and its agents keep
trusting it."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from backend.tests.support.certificates import create_root_ca, sign_intermediate_ca

from shardboard.pki import console_ca_files
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.console_ca_files import CaRequest, ConsoleCaFiles, new_signer
from shardboard.pki.key_files import write_private
from shardboard.pki.signer import CertificateAuthority
from shardboard.settings import Settings


class Killed(Exception):
    """The process was killed here."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path)


def names_in(authority: ConsoleCa) -> set[str]:
    return {path.name for path in authority.directory.iterdir()}


@pytest.mark.parametrize(("writes", "is_over"), [(0, False), (1, False), (2, True)])
def test_killed_while_the_ca_is_replaced(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, writes: int, is_over: bool
) -> None:
    """The cases: no file is written, the copy of the former CA is written, and the present CA is written but not its copy for
    users."""
    ca = ConsoleCa.load(settings)
    before, after = ca.current, ca.announce()
    writes_left = iter(range(writes))

    def write_or_die(*arguments: object) -> None:
        if next(writes_left, None) is None:
            raise Killed
        if arguments:
            write_private(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(console_ca_files, "write_private", write_or_die)
    monkeypatch.setattr(console_ca_files, "sync_directory", lambda *_: None)
    rename = Path.replace

    def replace_or_die(self: Path, target: Path) -> Path:
        if self.name == "next-ca.pem":
            write_or_die()
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace_or_die)
    try:
        ca.switch()
    except Killed:
        assert not is_over
    monkeypatch.undo()
    shell = ConsoleCa.existing(settings)
    reloaded = ConsoleCa.load(settings)
    for each in (shell, reloaded):
        assert each.ca_fingerprint() == (after if is_over else before).fingerprint
        assert each.step == ("served" if is_over else "announced")
    assert (settings.state_dir / "tls" / "ca.pem").read_text() == reloaded.current.chain_pem
    expected = {"ca.key", "ca.pem", "client.pem", "server.pem", "former-ca.pem" if is_over else "next-ca.pem"}
    assert names_in(reloaded) == expected


def test_killed_while_the_first_ca_is_created(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(ConsoleCaFiles, "copy", killed)
    with pytest.raises(Killed):
        ConsoleCa.load(settings)
    monkeypatch.undo()
    key = (settings.state_dir / "tls" / "ca.key").read_text()
    assert ConsoleCa.load(settings).ca_pem in key


def test_ca_files_of_an_earlier_release_are_read(settings: Settings) -> None:
    """The key was in a separate file, and the certificate only in `ca.pem`."""
    signer = new_signer()
    directory = settings.state_dir / "tls"
    directory.mkdir()
    (directory / "ca.pem").write_text(signer.pem)
    (directory / "ca.key").write_text(signer.stored().decode().removeprefix(signer.pem))
    ca = ConsoleCa.load(settings)
    assert ca.ca_fingerprint() == signer.fingerprint
    ca.announce()
    ca.switch()
    assert ConsoleCa.existing(settings).former is not None


def test_foreign_ca_certificate_is_an_error(settings: Settings) -> None:
    ca = ConsoleCa.load(settings)
    ca.ca_file.write_text(new_signer().pem)
    with pytest.raises(ValueError, match="is not the key of"):
        ConsoleCa.load(settings)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-60])


@pytest.mark.parametrize("name", ["ca.key", "former-ca.pem"])
def test_error_names_the_damaged_file_that_is_needed(settings: Settings, name: str) -> None:
    ca = ConsoleCa.load(settings)
    ca.announce()
    ca.switch()
    truncate(ca.directory / name)
    with pytest.raises(ValueError, match=rf"{name} is not usable"):
        ConsoleCa.existing(settings)


def test_damaged_files_of_an_unused_ca_are_ignored(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    ca = ConsoleCa.load(settings)
    ca.request("Shardboard CA", "")
    truncate(ca.directory / "requested-ca.pem")
    assert ConsoleCa.load(settings).requested is None
    ca.announce()
    truncate(ca.directory / "next-ca.pem")
    assert ConsoleCa.load(settings).step == ""
    assert "requested-ca.pem is not usable" in caplog.text
    assert "next-ca.pem is not usable" in caplog.text


def test_answered_request_is_no_longer_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed, or the disk fails, between writing the two files."""
    ca = ConsoleCa.load(settings)
    request = ca.request("Shardboard CA", "")
    monkeypatch.setattr(ConsoleCaFiles, "_remove", Mock(side_effect=OSError(5, "Input/output error")))
    ca.announce(CertificateAuthority(request.key, (sign_intermediate_ca(create_root_ca(), request.key).certificate,)))
    assert (ca.step, ca.requested) == ("announced", None)
    monkeypatch.undo()
    assert (ca.directory / "requested-ca.pem").exists()
    reloaded = ConsoleCa.load(settings)
    assert (reloaded.step, reloaded.requested) == ("announced", None)
    assert not (ca.directory / "requested-ca.pem").exists()


def test_failed_directory_sync_does_not_undo_a_change(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ca = ConsoleCa.load(settings)
    after = ca.announce()
    monkeypatch.setattr(console_ca_files, "sync_directory", Mock(side_effect=OSError(5, "Input/output error")))
    ca.switch()
    assert ca.ca_fingerprint() == after.fingerprint == ConsoleCa.existing(settings).ca_fingerprint()
    ca.renew()
    ca.remove_former()
    assert ConsoleCa.existing(settings).step == ""
    assert "to disk failed" in caplog.text


def test_request_is_kept_until_it_is_answered(settings: Settings) -> None:
    ca = ConsoleCa.load(settings)
    created = ca.request("Shardboard CA of Example", "Example Ltd.")
    assert created.subject == "CN=Shardboard CA of Example,O=Example Ltd."
    open_request = ConsoleCa.load(settings).requested
    assert open_request is not None
    assert (open_request.csr, open_request.key.public_key()) == (created.csr, created.key.public_key())
    ca.announce()
    assert ConsoleCa.load(settings).requested is None


def test_request_omits_an_empty_organization() -> None:
    assert CaRequest.create("Shardboard CA", "").subject == "CN=Shardboard CA"
