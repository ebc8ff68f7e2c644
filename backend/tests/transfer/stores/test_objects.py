"""Errors of object stores, and what is sent to them."""

import http.server
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from backend.tests.support import storage_servers
from backend.tests.support.certificates import SignedCertificate, sign
from backend.tests.support.storage_servers import status_reply

from shardboard.contract.locations import S3, AzureBlob, GoogleStorage, Location
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.objects import ObjectStore, _s3


def s3(endpoint: str, **more: Any) -> S3:
    fields = {"bucket_name": "bucket", "access_key_id": "key", "secret_access_key": "secret", "path_style": True}
    return S3(endpoint=endpoint, **{**fields, **more})


def error_of(location: S3 | GoogleStorage | AzureBlob, call: str = "write") -> TransferError:
    """Return the error of a call."""
    calls: dict[str, Callable[[ObjectStore], object]] = {
        "write": lambda store: store.write("a/b", iter([b"x"])),
        "read": lambda store: list(store.read("a/b")),
        "list": lambda store: list(store.list("a")),
        "delete": lambda store: store.delete(["a/b"]),
    }
    with pytest.raises(TransferError) as caught:
        calls[call](ObjectStore(location, is_check=True))
    return caught.value


def xml(code: str, message: str = "Something is wrong.") -> bytes:
    return f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()


@pytest.mark.parametrize(
    ("status", "body", "code", "message"),
    [
        (403, xml("AccessDenied", "Access Denied"), "no-permission", "(status 403, AccessDenied): Access Denied."),
        (403, xml("SignatureDoesNotMatch"), "no-permission", "(status 403, SignatureDoesNotMatch)"),
        (401, b"", "no-permission", "denied access"),
        (404, xml("NoSuchBucket"), "wrong-file-path", "bucket or container does not exist"),
        (400, xml("QuotaExceeded"), "upload-error", "The store is full (status 400, QuotaExceeded)"),
        (507, b"", "upload-error", "The store is full (status 507)"),
        (400, xml("InvalidRequest"), "upload-error", "returned an error for a/b (status 400, InvalidRequest)"),
        (301, b"", "upload-error", "redirects to another region"),
    ],
)
def test_response_of_the_store_is_explained(status: int, body: bytes, code: str, message: str) -> None:
    with storage_servers.http_server(status_reply(status, body)) as url:
        error = error_of(s3(url))
    assert error.code == code
    assert message in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize("call", ["read", "list", "delete"])
def test_denied_access_is_reported_by_each_call(call: str) -> None:
    with storage_servers.http_server(status_reply(403, xml("AccessDenied"))) as url:
        assert error_of(s3(url), call).code == "no-permission"


@pytest.mark.parametrize("call", ["write", "read", "list", "delete"])
def test_missing_bucket_is_reported_by_each_call(call: str) -> None:
    with storage_servers.http_server(status_reply(404, xml("NoSuchBucket"))) as url:
        error = error_of(s3(url), "write" if call == "read" else call)  # the reply to HEAD has no content
    assert error.code == "wrong-file-path"


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ("http://127.0.0.1:1", "127.0.0.1 refused the connection."),
        ("http://store.invalid", "store.invalid cannot be resolved."),
        ("nonsense://127.0.0.1", "The location"),
    ],
)
def test_unreachable_store_is_reported(endpoint: str, message: str) -> None:
    error = error_of(s3(endpoint))
    assert error.code in ("upload-error", "general-error")
    assert message.removeprefix("The location") in str(error)


def test_untrusted_certificate_is_explained() -> None:
    ca, certificate = storage_servers.server_certificate()
    with storage_servers.http_server(status_reply(403, xml("AccessDenied")), certificate) as url:
        error = error_of(s3(url))
        assert str(error) == (
            "The certificate of localhost is not trusted: "
            "it is signed by an unknown CA; add the certificate of that CA to the location."
        )
        assert error_of(s3(url, ca_cert=ca)).code == "no-permission", "the connection was accepted"
        other_name = url.replace("localhost", "127.0.0.1")
        assert "not valid for the host name" in str(error_of(s3(other_name, ca_cert=ca)))


def test_self_signed_certificate_is_explained() -> None:
    certificate: SignedCertificate = sign("storage", names=("localhost",))
    with storage_servers.http_server(status_reply(200), certificate) as url:
        assert "needs a certificate that is signed by a CA" in str(error_of(s3(url, ca_cert=certificate.pem)))


@pytest.mark.parametrize(
    "location",
    [
        s3("http://127.0.0.1:1", ca_cert="nonsense"),
        s3("http://127.0.0.1:1", proxy_url="::::"),
        GoogleStorage(bucket_name="b", client_email="a@b", private_key_id="1", private_key="nonsense"),
        AzureBlob(container="c", account_name="a", account_key="%%%"),
    ],
    ids=["ca", "proxy", "gs", "abs"],
)
def test_invalid_settings_are_reported(location: Any) -> None:
    error = error_of(location)
    assert error.code in ("general-error", "upload-error")
    assert "Debug" not in str(error)


def requests_of(location: S3 | AzureBlob, reply_body: bytes = b"") -> list[tuple[str, dict[str, str]]]:
    """Return path and headers of the requests that a small file causes, at an endpoint that the server replaces."""
    requests: list[tuple[str, dict[str, str]]] = []

    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        requests.append(
            (f"{request.command} {request.path}", {name.lower(): value for name, value in request.headers.items()})
        )
        status_reply(400, reply_body)(request)

    with storage_servers.http_server(reply) as url:
        error_of(location.model_copy(update={"endpoint": url.replace("localhost", "127.0.0.1")}))
    return requests


def test_encryption_settings_are_sent() -> None:
    ((path, headers), *_) = requests_of(s3("", sse="aws:kms", kms_key_id="my-key", session_token="my-token"))
    assert path == "POST /bucket/a/b?uploads="
    assert headers["x-amz-server-side-encryption"] == "aws:kms"
    assert headers["x-amz-server-side-encryption-aws-kms-key-id"] == "my-key"
    assert headers["x-amz-security-token"] == "my-token"
    (_, headers), *_ = requests_of(s3(""))
    assert "x-amz-security-token" not in headers


def test_proxy_is_used() -> None:
    requests: list[str] = []

    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        requests.append(request.path)
        status_reply(403, xml("AccessDenied"))(request)

    with storage_servers.http_server(reply) as proxy:
        assert error_of(s3("http://store.example.com", proxy_url=proxy)).code == "no-permission"
    assert requests == ["http://store.example.com/bucket/a/b?uploads="]


@pytest.mark.parametrize(
    ("location", "endpoint", "virtual_hosted"),
    [
        (s3("https://minio.example.com:9000/"), "https://minio.example.com:9000", False),
        (s3("https://s3.example.com", path_style=False), "https://bucket.s3.example.com", True),
        (s3("http://10.0.0.1:9000", path_style=False), "http://10.0.0.1:9000", False),
        (s3("", path_style=False), None, True),
    ],
)
def test_bucket_is_in_the_path_or_the_host_name(location: S3, endpoint: str | None, virtual_hosted: bool) -> None:
    config = _s3(location)
    assert (config.get("endpoint"), config["virtual_hosted_style_request"]) == (endpoint, virtual_hosted)


def test_azure_uses_its_credentials() -> None:
    azure = AzureBlob(container="backups", account_name="account", account_key="a2V5", subdir="team")
    ((path, headers), *_) = requests_of(azure)
    assert path.startswith("PUT /backups/team/a/b")
    assert headers["authorization"].startswith("SharedKey account:")
    ((path, headers), *_) = requests_of(azure.model_copy(update={"account_key": "", "sas_token": "?sv=1&sig=abc"}))
    assert ("sig=abc" in path, "authorization" in headers) == (True, False)


@pytest.fixture
def replaced_object() -> Iterator[Location]:
    """A store in which an object is replaced after its first part was read."""
    tags = iter(["one", "two", "three"])

    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200 if request.command == "HEAD" else 206)
        request.send_header("ETag", next(tags))
        request.send_header("Content-Range", "bytes 0-0/1")
        request.send_header("Content-Length", "1")
        request.send_header("Last-Modified", "Mon, 30 Nov 2026 09:00:00 GMT")
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(b"x")

    with storage_servers.http_server(reply) as url:
        yield s3(url)


def test_replaced_object_is_reported(replaced_object: S3) -> None:
    assert "was replaced while it was read" in str(error_of(replaced_object, "read"))
