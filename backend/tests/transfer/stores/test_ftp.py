"""Errors of FTP and FTPS servers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from backend.tests.support import storage_servers

from shardboard.contract.locations import Ftp
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.ftp import FtpServer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    with storage_servers.ftp_server(folder) as url:
        yield url


def error_of(location: Ftp) -> TransferError:
    with pytest.raises(TransferError) as caught:
        FtpServer(location)
    assert "correct-horse" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "url", ["sftp://host/path", "ftp:///path", "ftp://host:port/", "ftp://[host/", "ftp://host/a%0Ab"]
)
def test_invalid_url_is_refused(url: str) -> None:
    assert error_of(Ftp(url=url)).code == "wrong-file-path"


def test_wrong_password_is_reported(url: str) -> None:
    error = error_of(Ftp(url=url.replace("correct-horse", "wrong-horse")))
    assert (error.code, "denied access" in str(error)) == ("no-permission", True)


def test_missing_folder_is_reported(url: str) -> None:
    error = error_of(Ftp(url=f"{url}/absent"))
    assert error.code == "wrong-file-path"


def test_missing_permission_is_reported(url: str) -> None:
    store = FtpServer(Ftp(url=url.replace("backup:", "reader:")))
    with pytest.raises(TransferError, match="denied access to a") as caught:
        store.write("a", iter([b"x"]))
    assert caught.value.code == "no-permission"
    store.close()


def test_unreachable_server_is_reported() -> None:
    assert str(error_of(Ftp(url="ftp://127.0.0.1:1/"))) == "127.0.0.1 refused the connection."
    assert "failed" in str(error_of(Ftp(url="ftp://server.invalid/")))


def test_untrusted_certificate_is_reported(folder: Path) -> None:
    trust, certificate = storage_servers.server_certificate()
    with storage_servers.ftp_server(folder, certificate) as url:
        error = error_of(Ftp(url=url))
        assert "The certificate of localhost is not trusted" in str(error)
        FtpServer(Ftp(url=url, ca_cert=trust)).close()


def test_absolute_path_is_supported(url: str, folder: Path) -> None:
    (folder / "base").mkdir()
    store = FtpServer(Ftp(url=f"{url}//base"))
    store.write("a/b", iter([b"x"]))
    store.close()
    assert (folder / "base/a/b").read_bytes() == b"x"
