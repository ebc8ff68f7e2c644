"""Behavior that all stores have in common, with real servers."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from backend.tests.support import storage_servers
from backend.tests.support.storage_servers import PASSWORD, USER
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from shardboard.contract.locations import S3, AzureBlob, Ftp, GoogleStorage, Location, MountPoint, Sftp
from shardboard.contract.transfers import CheckLocation
from shardboard.transfer import locations
from shardboard.transfer.errors import TransferError
from shardboard.transfer.files import check_location
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.store import PART_BYTES, Store

Open = Callable[[], Store]
needs_azurite = pytest.mark.skipif(
    not shutil.which("azurite-blob"), reason="needs Azurite: npm install --global azurite"
)
KINDS = ("mount_point", "s3", "gs", "ftp", "ftps", "sftp", pytest.param("abs", marks=[pytest.mark.slow, needs_azurite]))


def location_of(kind: str, url: str, folder: Path, trust: str) -> Location:
    match kind:
        case "s3":
            return S3(
                bucket_name="bucket",
                subdir="/team/a/",
                access_key_id=USER,
                secret_access_key=PASSWORD,
                endpoint=url,
                path_style=True,
                sse="AES256",
            )
        case "gs":
            key = rsa.generate_private_key(65537, 2048)
            pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
            account = {"client_email": "a@example.com", "private_key_id": "1", "private_key": pem}
            return GoogleStorage(bucket_name="bucket", subdir="gs", endpoint=url, **account)
        case "abs":
            account, key = storage_servers.AZURE_ACCOUNT, storage_servers.AZURE_KEY
            return AzureBlob(container="bucket", subdir="az", account_name=account, account_key=key, endpoint=url)
        case "ftp" | "ftps":
            return Ftp(url=f"{url}/base", ca_cert=trust)
        case "sftp":
            return Sftp(sftp_url=f"{url}/base", known_hosts=trust)
    return MountPoint(path=str(folder / "base"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("servers") / "files"
    (folder / "base").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    with storage_servers.s3_server() as url:
        yield url


@pytest.fixture(scope="module", params=KINDS)
def location(request: pytest.FixtureRequest, folder: Path) -> Iterator[Location]:
    kind = request.param
    match kind:
        case "s3" | "gs":
            yield location_of(kind, request.getfixturevalue("s3_url"), folder, "")
        case "abs":
            with storage_servers.azure_server(folder) as url:
                yield location_of(kind, url, folder, "")
        case "ftp":
            with storage_servers.ftp_server(folder) as url:
                yield location_of(kind, url, folder, "")
        case "ftps":
            trust, certificate = storage_servers.server_certificate()
            with storage_servers.ftp_server(folder, certificate) as url:
                yield location_of(kind, url, folder, trust)
        case "sftp":
            with storage_servers.sftp_server(folder) as (url, known_hosts):
                yield location_of(kind, url, folder, known_hosts)
        case _:
            yield location_of(kind, "", folder, "")


@pytest.fixture
def open_store(location: Location, folder: Path) -> Open:
    specification = Specification(transfer=CheckLocation(location=location), backup_roots=[folder])
    return lambda: locations.open_store(specification)


@pytest.fixture
def store(open_store: Open) -> Iterator[Store]:
    with closing(open_store()) as store:
        yield store
        store.delete([file.path for file in store.list("")])
        assert list(store.list("")) == []


def read(store: Store, path: str) -> bytes:
    return b"".join(store.read(path))


def test_files_are_written_read_listed_and_deleted(store: Store) -> None:
    content = bytes(range(256)) * (PART_BYTES // 256) + b"more than one part"
    pieces = [content[start : start + 2**20] for start in range(0, len(content), 2**20)]
    store.write("db-1/2026/0-5.rdb", iter(pieces))
    store.write("db-1/2026/manifest.json", iter([b"{}"]))
    store.write("db-2/a", iter([b"x"]))
    assert read(store, "db-1/2026/0-5.rdb") == content
    files = {file.path: file for file in store.list("db-1")}
    assert {path: file.bytes for path, file in files.items()} == {
        "db-1/2026/0-5.rdb": len(content),
        "db-1/2026/manifest.json": 2,
    }
    assert all(file.modified is not None for file in files.values())
    store.write("db-2/a", iter([b"new"]))
    assert read(store, "db-2/a") == b"new"
    store.delete(["db-1/2026/manifest.json", "db-1/2026/0-5.rdb", "db-1/2026/absent"])
    assert [file.path for file in store.list("")] == ["db-2/a"]
    assert list(store.list("db-1")) == []


def test_interrupted_upload_is_not_visible(store: Store) -> None:
    store.write("db/other", iter([b"x"]))

    def parts() -> Iterator[bytes]:
        yield from [bytes(2**20)] * (PART_BYTES // 2**20 + 1)
        raise TransferError("stopped", "enough")

    with pytest.raises(TransferError, match="enough"):
        store.write("db/a", parts())
    assert [file.path for file in store.list("")] == ["db/other"]
    assert read(store, "db/other") == b"x"


def test_interrupted_upload_leaves_no_parts(s3_url: str, folder: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield from [bytes(2**20)] * (2 * PART_BYTES // 2**20)
        uploads.append(open_uploads(s3_url))
        raise TransferError("stopped", "enough")

    uploads: list[int] = []
    location = location_of("s3", s3_url, folder, "")
    with pytest.raises(TransferError, match="enough"):
        locations.open_store(Specification(transfer=CheckLocation(location=location))).write("db/a", parts())
    assert [*uploads, open_uploads(s3_url)] == [1, 0]


def open_uploads(url: str) -> int:
    return httpx.get(f"{url}/bucket?uploads").text.count("<Upload>")


def test_missing_file_is_reported(store: Store) -> None:
    with pytest.raises(TransferError, match="db/absent") as caught:
        read(store, "db/absent")
    assert caught.value.code == "wrong-file-path"


def test_empty_file_is_stored(store: Store) -> None:
    store.write("empty", iter([]))
    assert read(store, "empty") == b""


@pytest.mark.parametrize("path", ["../a", "a/../b", "a//b", "/a", "a\\b"])
def test_paths_out_of_the_location_are_refused(store: Store, path: str) -> None:
    for refused in (lambda: store.write(path, iter([b"x"])), lambda: read(store, path), lambda: store.delete([path])):
        with pytest.raises(TransferError, match="contains empty parts") as caught:
            refused()
        assert caught.value.code == "wrong-file-path"


def test_location_passes_its_check(store: Store, open_store: Open) -> None:
    checks = check_location(open_store)["checks"]
    assert [(check["name"], check["ok"]) for check in checks] == [
        (name, True) for name in ("connect", "write", "read", "list", "delete")
    ]
