"""Authorities on disk: killed anywhere, the console finds the one before or the one after, and never locks its agents out."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from backend.tests.certificates import below, root

from shardboard import authority_files
from shardboard.authority import Authority
from shardboard.authority_files import AuthorityFiles, Request, new_signer
from shardboard.key_files import write_private
from shardboard.settings import Settings
from shardboard.signer import Signer


class Killed(Exception):
    """The process ended here."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path)


def names_in(authority: Authority) -> set[str]:
    return {path.name for path in authority.directory.iterdir()}


@pytest.mark.parametrize(("writes", "is_over"), [(0, False), (1, False), (2, True)])
def test_killed_while_it_is_replaced(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, writes: int, is_over: bool
) -> None:
    """Nothing was written, the copy of the former one was, and the present one was (but not its copy for people)."""
    authority = Authority.load(settings)
    before, after = authority.present, authority.announce()
    left = iter(range(writes))

    def ending(*arguments: object) -> None:
        if next(left, None) is None:
            raise Killed
        if arguments:
            write_private(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(authority_files, "write_private", ending)
    monkeypatch.setattr(authority_files, "sync_directory", lambda *_: None)
    rename = Path.replace

    def renaming(self: Path, target: Path) -> Path:
        if self.name == "next-ca.pem":
            ending()
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", renaming)
    try:
        authority.switch()
    except Killed:
        assert not is_over
    monkeypatch.undo()
    shell = Authority.existing(settings)
    found = Authority.load(settings)
    for each in (shell, found):
        assert each.ca_fingerprint() == (after if is_over else before).fingerprint
        assert each.step == ("shown" if is_over else "announced")
    assert (settings.state_dir / "tls" / "ca.pem").read_text() == found.present.chain_pem
    expected = {"ca.key", "ca.pem", "client.pem", "server.pem", "former-ca.pem" if is_over else "next-ca.pem"}
    assert names_in(found) == expected


def test_killed_while_the_first_one_is_made(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(AuthorityFiles, "copy", killed)
    with pytest.raises(Killed):
        Authority.load(settings)
    monkeypatch.undo()
    key = (settings.state_dir / "tls" / "ca.key").read_text()
    assert Authority.load(settings).ca_pem in key


def test_of_an_earlier_release(settings: Settings) -> None:
    """The key had a file of its own; the certificate was in `ca.pem` alone."""
    signer = new_signer()
    directory = settings.state_dir / "tls"
    directory.mkdir()
    (directory / "ca.pem").write_text(signer.pem)
    (directory / "ca.key").write_text(signer.stored().decode().removeprefix(signer.pem))
    authority = Authority.load(settings)
    assert authority.ca_fingerprint() == signer.fingerprint
    authority.announce()
    authority.switch()
    assert Authority.existing(settings).former is not None


def test_another_certificate_is_not_papered_over(settings: Settings) -> None:
    authority = Authority.load(settings)
    authority.ca_file.write_text(new_signer().pem)
    with pytest.raises(ValueError, match="is not the key of"):
        Authority.load(settings)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-60])


@pytest.mark.parametrize("name", ["ca.key", "former-ca.pem"])
def test_damaged_files_that_are_needed_are_named(settings: Settings, name: str) -> None:
    authority = Authority.load(settings)
    authority.announce()
    authority.switch()
    cut(authority.directory / name)
    with pytest.raises(ValueError, match=rf"{name} is not usable"):
        Authority.existing(settings)


def test_damaged_files_of_which_nothing_was_shown_are_none(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority.load(settings)
    authority.request("Shardboard CA", "")
    cut(authority.directory / "requested-ca.pem")
    assert Authority.load(settings).requested is None
    authority.announce()
    cut(authority.directory / "next-ca.pem")
    assert Authority.load(settings).step == ""
    assert "requested-ca.pem is not usable" in caplog.text
    assert "next-ca.pem is not usable" in caplog.text


def test_a_request_that_was_answered_is_not_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed, or on a disk that refuses, between the two files."""
    authority = Authority.load(settings)
    request = authority.request("Shardboard CA", "")
    monkeypatch.setattr(AuthorityFiles, "_remove", Mock(side_effect=OSError(5, "Input/output error")))
    authority.announce(Signer(request.key, (below(root(), request.key).certificate,)))
    assert (authority.step, authority.requested) == ("announced", None)
    monkeypatch.undo()
    assert (authority.directory / "requested-ca.pem").exists()
    again = Authority.load(settings)
    assert (again.step, again.requested) == ("announced", None)
    assert not (authority.directory / "requested-ca.pem").exists()


def test_a_disk_that_is_not_written_through_undoes_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority.load(settings)
    after = authority.announce()
    monkeypatch.setattr(authority_files, "sync_directory", Mock(side_effect=OSError(5, "Input/output error")))
    authority.switch()
    assert authority.ca_fingerprint() == after.fingerprint == Authority.existing(settings).ca_fingerprint()
    authority.renew()
    authority.forget()
    assert Authority.existing(settings).step == ""
    assert "to disk failed" in caplog.text


def test_a_request_is_found_again_and_is_gone_when_it_is_answered(settings: Settings) -> None:
    authority = Authority.load(settings)
    made = authority.request("Shardboard CA of Example", "Example Ltd.")
    assert made.subject == "CN=Shardboard CA of Example,O=Example Ltd."
    found = Authority.load(settings).requested
    assert found is not None
    assert (found.csr, found.key.public_key()) == (made.csr, made.key.public_key())
    authority.announce()
    assert Authority.load(settings).requested is None


def test_a_request_says_no_name_that_is_empty() -> None:
    assert Request.create("Shardboard CA", "").subject == "CN=Shardboard CA"
