"""Servers that accept connections but do not respond."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from shardboard.contract.locations import S3, Ftp, Location, Sftp, Url
from shardboard.contract.transfers import CheckLocation
from shardboard.transfer.jobs import Job
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores import ftp, objects, sftp, urls


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.mark.parametrize("kind", ["s3", "ftp", "sftp", "url"])
def test_server_that_does_not_respond_is_reported(kind: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "CHECK_SECONDS", 1)
    monkeypatch.setattr(ftp, "TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(sftp, "CONNECT_SECONDS", 1)
    monkeypatch.setattr(urls, "TIMEOUT", httpx.Timeout(0.2))
    address = f"127.0.0.1:{port}"
    locations: dict[str, Location] = {
        "s3": S3(bucket_name="b", access_key_id="a", secret_access_key="b", endpoint=f"http://{address}"),
        "ftp": Ftp(url=f"ftp://{address}/"),
        "sftp": Sftp(sftp_url=f"sftp://user@{address}/"),
        "url": Url(url=f"http://{address}/a"),
    }
    result = Job(Specification(transfer=CheckLocation(location=locations[kind])), lambda _: None).run()
    failed = result["checks"][-1]
    assert (failed["ok"], failed["error"]) == (False, "127.0.0.1 did not respond in time.")
