"""Tests of importing the files of an earlier release: an interrupted step is read like by that release, and no file is lost."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from backend.tests.support.certificates import create_root_ca, sign_intermediate_ca
from backend.tests.support.consoles.earlier_certificate_files import FILES, names_in, write_files

from shardboard.pki import imported_files
from shardboard.pki.certificate_state import CaRequest, CertificateState, new_ca
from shardboard.pki.imported_files import ImportedFiles
from shardboard.pki.signer import CertificateAuthority

COMPLETE = replace(
    CertificateState.create().announcing().switched().announcing(),
    requested=CaRequest.create("Shardboard CA of Example", ""),
    installed="certificate and key",
)
"""More than one step has at a time."""


def read(directory: Path) -> CertificateState:
    state = ImportedFiles(directory).read()
    assert state is not None
    return state


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-60])


def test_all_files_are_read(tmp_path: Path) -> None:
    assert ImportedFiles(tmp_path).read() is None
    write_files(tmp_path, COMPLETE)
    assert {**read(tmp_path).stored, "client": COMPLETE.client} == COMPLETE.stored


def test_certificate_in_a_separate_file_is_read(tmp_path: Path) -> None:
    """Still earlier releases stored it only in `ca.pem`."""
    signer = new_ca()
    (tmp_path / "ca.pem").write_text(signer.pem)
    (tmp_path / "ca.key").write_text(signer.stored().decode().removeprefix(signer.pem))
    assert read(tmp_path).current.fingerprint == signer.fingerprint
    (tmp_path / "ca.pem").write_text(new_ca().pem)
    with pytest.raises(ValueError, match="is not the key of"):
        read(tmp_path)


def test_interrupted_switch_is_read(tmp_path: Path) -> None:
    """The earlier release was killed before or after it renamed `next-ca.pem` to `ca.key`."""
    announced = CertificateState.create().announcing()
    write_files(tmp_path, announced)
    (tmp_path / "former-ca.pem").write_bytes(announced.current.stored())
    before = read(tmp_path)
    assert (before.step, before.former, before.current.fingerprint) == (
        "announced",
        None,
        announced.current.fingerprint,
    )
    (tmp_path / "next-ca.pem").replace(tmp_path / "ca.key")
    after = read(tmp_path)
    assert after.step == "served"
    assert after.stored["ca"] == announced.stored["next_ca"]
    assert after.stored["former_ca"] == announced.stored["ca"]


def test_foreign_ca_is_an_error(tmp_path: Path) -> None:
    write_files(tmp_path, CertificateState.create())
    (tmp_path / "ca.pem").write_text(new_ca().pem)
    with pytest.raises(ValueError, match="is not the key of"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["ca.key", "former-ca.pem"])
def test_error_names_the_damaged_file_that_is_needed(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, COMPLETE)
    truncate(tmp_path / name)
    with pytest.raises(ValueError, match=rf"{name} is not usable"):
        read(tmp_path)


def test_damaged_files_of_an_unused_ca_are_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_files(tmp_path, COMPLETE)
    truncate(tmp_path / "requested-ca.pem")
    truncate(tmp_path / "next-ca.pem")
    state = read(tmp_path)
    assert (state.requested, state.step) == (None, "served")
    assert "requested-ca.pem is not usable" in caplog.text
    assert "next-ca.pem is not usable" in caplog.text


def test_answered_request_is_no_longer_open(tmp_path: Path) -> None:
    request = CaRequest.create("Shardboard CA", "")
    signed = CertificateAuthority(request.key, (sign_intermediate_ca(create_root_ca(), request.key).certificate,))
    write_files(tmp_path, replace(CertificateState.create().announcing(signed), requested=request))
    assert (read(tmp_path).requested, read(tmp_path).step) == (None, "announced")


def test_files_are_deleted_at_the_start_after_the_import(tmp_path: Path) -> None:
    write_files(tmp_path, COMPLETE)
    (tmp_path / "server.pem").write_text("of this console")
    files, before = ImportedFiles(tmp_path), names_in(tmp_path)
    files.retire(COMPLETE)
    assert names_in(tmp_path) == before | {"imported"}
    files.retire(CertificateState.create())  # replaced since then
    assert names_in(tmp_path) == {"ca.pem", "server.pem"}


@pytest.mark.parametrize("survivors", range(len(FILES)))
def test_killed_while_files_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survivors: int) -> None:
    write_files(tmp_path, COMPLETE)
    ImportedFiles(tmp_path).retire(COMPLETE)
    unlink, left = Path.unlink, iter(range(len(FILES) - survivors))

    def unlink_or_die(self: Path) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        unlink(self)

    monkeypatch.setattr(Path, "unlink", unlink_or_die)
    with pytest.raises(KeyboardInterrupt):
        ImportedFiles(tmp_path).retire(COMPLETE)
    monkeypatch.undo()
    ImportedFiles(tmp_path).retire(COMPLETE)
    assert names_in(tmp_path) == {"ca.pem"}


def test_files_that_are_not_in_the_store_are_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The state directory belongs to another store, or a file was restored after the import."""
    write_files(tmp_path, COMPLETE)
    before = names_in(tmp_path)
    for _ in range(2):
        ImportedFiles(tmp_path).retire(CertificateState.create())
    assert names_in(tmp_path) == before
    assert "the store has a different CA" in caplog.text
    ImportedFiles(tmp_path).retire(COMPLETE)
    other = new_ca().stored()
    (tmp_path / "next-ca.pem").write_bytes(other)
    ImportedFiles(tmp_path).retire(COMPLETE)
    assert (tmp_path / "next-ca.pem").read_bytes() == other


def test_full_disk_does_not_prevent_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(tmp_path, COMPLETE)
    before = names_in(tmp_path)
    monkeypatch.setattr(imported_files, "write_private", Mock(side_effect=OSError(28, "No space left on device")))
    ImportedFiles(tmp_path).retire(COMPLETE)
    assert names_in(tmp_path) == before
    assert "were kept" in caplog.text
