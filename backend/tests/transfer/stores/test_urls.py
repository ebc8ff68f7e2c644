"""Files at HTTP and HTTPS URLs."""

import http.server

import pytest
from backend.tests.support import storage_servers
from backend.tests.support.storage_servers import status_reply

from shardboard.contract.locations import Url
from shardboard.contract.transfers import ReadFile
from shardboard.transfer.errors import TransferError
from shardboard.transfer.files import check_location
from shardboard.transfer.jobs import Job
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.urls import WebFile


def read(location: Url) -> bytes:
    return b"".join(WebFile(location).read("file"))


def error_of(location: Url) -> TransferError:
    with pytest.raises(TransferError) as caught:
        read(location)
    return caught.value


def test_file_is_read_with_its_query_and_after_redirects() -> None:
    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        if request.path == "/old?signature=1":
            request.send_response(302)
            request.send_header("Location", "/dump.rdb?signature=2")
            request.end_headers()
        else:
            assert request.path == "/dump.rdb?signature=2"
            status_reply(200, b"REDIS0011")(request)

    with storage_servers.http_server(reply) as url:
        assert read(Url(url=f"{url}/old?signature=1")) == b"REDIS0011"


def test_compressed_file_is_not_decoded() -> None:
    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", "4")
        request.end_headers()
        request.wfile.write(b"\x1f\x8bab")

    with storage_servers.http_server(reply) as url:
        assert read(Url(url=url)) == b"\x1f\x8bab"


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "no-permission"), (403, "no-permission"), (404, "wrong-file-path"), (500, "download-error")],
)
def test_refused_request_is_reported(status: int, code: str) -> None:
    with storage_servers.http_server(status_reply(status)) as url:
        error = error_of(Url(url=f"{url}/a?signature=secret"))
    assert (error.code, f"status {status}" in str(error), "secret" in str(error)) == (code, True, False)


def test_incomplete_file_is_reported() -> None:
    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "10")
        request.end_headers()
        request.wfile.write(b"half")

    with storage_servers.http_server(reply) as url:
        assert error_of(Url(url=url)).code == "download-error"


def test_certificate_is_verified() -> None:
    ca, certificate = storage_servers.server_certificate()
    with storage_servers.http_server(status_reply(200, b"x"), certificate) as url:
        assert read(Url(url=url, ca_cert=ca)) == b"x"
        assert "The certificate of localhost is not trusted" in str(error_of(Url(url=url)))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "ftp://host/a", "nonsense", "http://[", "https://x\x00"])
def test_unusable_url_is_reported(url: str) -> None:
    assert error_of(Url(url=url)).code == "download-error"


def test_only_reading_a_url_is_checked() -> None:
    with storage_servers.http_server(status_reply(200, b"REDIS")) as url:
        checks = check_location(lambda: WebFile(Url(url=url)), only_read=True)["checks"]
        assert [(check["name"], check["ok"]) for check in checks] == [("connect", True), ("read", True)]
    with storage_servers.http_server(status_reply(404)) as url:
        checks = check_location(lambda: WebFile(Url(url=url)), only_read=True)["checks"]
        assert (checks[1]["ok"], checks[1]["error_code"]) == (False, "wrong-file-path")


def test_content_of_a_url_is_not_returned() -> None:
    transfer = ReadFile(location=Url(url="http://127.0.0.1:1/a"), path="a")
    with pytest.raises(TransferError, match="cannot be returned"):
        Job(Specification(transfer=transfer), lambda _: None).run()


def test_url_is_read_only() -> None:
    store = WebFile(Url(url="http://127.0.0.1:1/a"))
    for refused in (lambda: store.write("a", iter([])), lambda: list(store.list("")), lambda: store.delete(["a"])):
        with pytest.raises(TransferError, match="cannot be written, listed or deleted"):
            refused()
