"""Authentication and errors of SFTP servers."""

import builtins
import errno
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from backend.tests.support import storage_servers

from shardboard.contract.locations import Sftp
from shardboard.contract.transfers import CheckLocation
from shardboard.transfer import locations
from shardboard.transfer.errors import TransferError
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.sftp import SftpServer

KEY = asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, str]]:
    with storage_servers.sftp_server(folder, KEY) as server:
        yield server


def error_of(location: Sftp) -> TransferError:
    with pytest.raises(TransferError) as caught:
        SftpServer(location)
    assert "correct-horse" not in str(caught.value)
    return caught.value


def test_private_key_replaces_the_password(server: tuple[str, str], folder: Path) -> None:
    url, known = server
    pem = KEY.export_private_key().decode()
    store = SftpServer(Sftp(sftp_url=url.replace(":correct-horse", ""), key=pem, known_hosts=known))
    store.write("a/b", iter([b"x"]))
    store.close()
    assert (folder / "a/b").read_bytes() == b"x"


def test_home_directory_is_supported(server: tuple[str, str], folder: Path) -> None:
    (folder / "base").mkdir()
    store = SftpServer(Sftp(sftp_url=f"{server[0]}/~/base", known_hosts=server[1]))
    store.write("a", iter([b"x"]))
    store.close()
    assert (folder / "base/a").read_bytes() == b"x"


def test_unknown_host_key_is_refused_with_the_line_to_add(server: tuple[str, str]) -> None:
    url, known = server
    for hosts in ("", known.replace("127.0.0.1", "127.0.0.2")):
        error = error_of(Sftp(sftp_url=url, known_hosts=hosts))
        assert error.code == "no-permission"
        assert known.strip() in str(error)


def test_wrong_credentials_are_reported(server: tuple[str, str]) -> None:
    url, known = server
    error = error_of(Sftp(sftp_url=url.replace("correct-horse", "wrong-horse"), known_hosts=known))
    assert (error.code, "rejected the user, the password or the key" in str(error)) == ("no-permission", True)
    error = error_of(Sftp(sftp_url=url, key="nonsense", known_hosts=known))
    assert (error.code, "private key" in str(error)) == ("no-permission", True)


@pytest.mark.parametrize("url", ["ftp://host/path", "sftp:///path"])
def test_invalid_url_is_refused(url: str) -> None:
    assert error_of(Sftp(sftp_url=url)).code == "wrong-file-path"


def test_unreachable_server_is_reported() -> None:
    assert str(error_of(Sftp(sftp_url="sftp://127.0.0.1:1/"))) == "127.0.0.1 refused the connection."
    assert error_of(Sftp(sftp_url="sftp://127.0.0.1:1/", known_hosts="not a line")).code == "general-error"


def test_missing_permission_is_reported(server: tuple[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(asyncssh.SFTPServer, "open", refuse)
    store = SftpServer(Sftp(sftp_url=server[0], known_hosts=server[1]))
    with pytest.raises(TransferError, match="denied access to a") as caught:
        store.write("a", iter([b"x"]))
    assert caught.value.code == "no-permission"
    store.close()


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_asyncssh(name: str, *rest: Any) -> Any:
        if name == "asyncssh":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.delitem(sys.modules, "shardboard.transfer.stores.sftp")
    monkeypatch.setattr(builtins, "__import__", without_asyncssh)
    transfer = CheckLocation(location=Sftp(sftp_url="sftp://host/"))
    with pytest.raises(TransferError, match=r"pip install shardboard\[sftp\]"):
        locations.open_store(Specification(transfer=transfer))
