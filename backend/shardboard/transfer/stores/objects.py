"""Locations in object stores: S3 and compatible, Google Cloud Storage, Azure Blob Storage.

Only the synchronous calls of obstore are used: a process that ends soon after an asynchronous call can abort. An upload is aborted
if the iterator of its parts raises. A cancelled call or a killed process leaves parts, which only a life-cycle rule of the bucket
removes.
"""

import ipaddress
import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore
from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from shardboard.contract.locations import S3, AzureBlob, GoogleStorage
from shardboard.contract.transfers import ErrorCode
from shardboard.transfer import addresses
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.object_errors import translate
from shardboard.transfer.stores.store import PART_BYTES, StoredFile, join

if TYPE_CHECKING:
    from obstore.store import AzureConfig, ClientConfig, GCSConfig, RetryConfig, S3Config

MAX_UPLOADS = 2
"""Parts that are uploaded at the same time; each is in memory."""
FIRST_BYTES = 2**16
"""Size of the first part that is read: some files are only checked."""
CONNECT_SECONDS, REQUEST_SECONDS = 10, 300
RETRIES, RETRY_SECONDS = 8, 180
CHECK_RETRIES, CHECK_SECONDS = 1, 20
"""For checks of a location, which users wait for."""
DEFAULT_REGION = "us-east-1"


class ObjectStore:
    """A bucket or container. Implements Store."""

    def __init__(self, location: S3 | GoogleStorage | AzureBlob, *, is_check: bool = False) -> None:
        """`is_check`: give up soon if the store does not respond."""
        self._folder = location.subdir
        with _translated("The location", "general-error"):
            for url in (location.endpoint, location.proxy_url):
                addresses.check_url(url)
            client = _client_options(location, CHECK_SECONDS if is_check else REQUEST_SECONDS)
            self._store = _open(location, client, _retries(is_check=is_check))

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        with _translated(path, "upload-error"):
            obstore.put(self._store, self._key(path), iter(parts), chunk_size=PART_BYTES, max_concurrency=MAX_UPLOADS)

    def read(self, path: str) -> Generator[bytes]:
        """Yield parts, each of which is a separate request: a connection that waits for a busy reader could be closed."""
        key = self._key(path)
        with _translated(path, "download-error"):
            meta = obstore.head(self._store, key)
            start, size = 0, FIRST_BYTES
            while start < meta["size"]:
                part = obstore.get(self._store, key, options={"range": (start, start + size)})
                if part.meta["e_tag"] != meta["e_tag"]:
                    raise TransferError("download-error", f"{path} was replaced while it was read.")
                yield bytes(part.bytes())
                start, size = start + size, PART_BYTES

    def list(self, folder: str) -> Iterator[StoredFile]:
        prefix = join(self._folder, "")
        with _translated(folder or ".", "download-error"):
            for batch in obstore.list(self._store, self._key(folder) or None, chunk_size=1_000):
                for meta in batch:
                    path = meta["path"].removeprefix(prefix).lstrip("/")
                    yield StoredFile(path, meta["size"], meta["last_modified"])

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            with _translated(path, "upload-error"):
                try:
                    obstore.delete(self._store, self._key(path))
                except FileNotFoundError as error:
                    if "NoSuchBucket" in str(error):
                        raise

    def remove_incomplete(self, folder: str) -> None:
        """Only a life-cycle rule of the bucket removes parts of incomplete uploads."""

    def close(self) -> None:
        pass

    def _key(self, path: str) -> str:
        return join(self._folder, path)


def _open(
    location: S3 | GoogleStorage | AzureBlob, client: "ClientConfig", retries: "RetryConfig"
) -> S3Store | GCSStore | AzureStore:
    match location:
        case S3():
            return S3Store(location.bucket_name, config=_s3(location), client_options=client, retry_config=retries)
        case GoogleStorage():
            return GCSStore(location.bucket_name, config=_gcs(location), client_options=client, retry_config=retries)
        case AzureBlob():
            return AzureStore(location.container, config=_azure(location), client_options=client, retry_config=retries)


def _s3(location: S3) -> "S3Config":
    config: S3Config = {"region": location.region_name or DEFAULT_REGION, "disable_bulk_delete": True}
    is_virtual_hosted = not location.path_style and not _is_address(location.endpoint)
    config["virtual_hosted_style_request"] = is_virtual_hosted
    if location.endpoint:
        endpoint = location.endpoint.rstrip("/")
        if is_virtual_hosted:  # the library expects the bucket in the host name
            endpoint = endpoint.replace("://", f"://{location.bucket_name}.", 1)
        config["endpoint"] = endpoint
    if location.access_key_id:
        config["access_key_id"] = location.access_key_id
        config["secret_access_key"] = location.secret_access_key
        if location.session_token:  # an empty one is sent, and refused by stores that check it
            config["session_token"] = location.session_token
    if location.sse:
        config["server_side_encryption"] = location.sse
    if location.kms_key_id:
        config["sse_kms_key_id"] = location.kms_key_id
    return config


def _gcs(location: GoogleStorage) -> "GCSConfig":
    config: GCSConfig = {}
    if location.private_key:
        account = {
            "type": "service_account",
            "client_id": location.client_id,
            "client_email": location.client_email,
            "private_key_id": location.private_key_id,
            "private_key": location.private_key,
        }
        config["service_account_key"] = json.dumps(account)
    if location.endpoint:
        config["base_url"] = location.endpoint.rstrip("/")
    return config


def _azure(location: AzureBlob) -> "AzureConfig":
    config: AzureConfig = {"account_name": location.account_name}
    if location.account_key:
        config["account_key"] = location.account_key
    if location.sas_token:
        config["sas_key"] = location.sas_token.removeprefix("?")
    if location.endpoint:
        config["endpoint"] = location.endpoint.rstrip("/")
    return config


def _client_options(location: S3 | GoogleStorage | AzureBlob, seconds: int) -> "ClientConfig":
    options: ClientConfig = {
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "timeout": timedelta(seconds=seconds),
        "allow_http": location.endpoint.startswith("http://"),
    }
    if location.ca_cert:
        options["root_certificate"] = location.ca_cert
    if location.proxy_url:
        options["proxy_url"] = location.proxy_url
    return options


def _retries(*, is_check: bool) -> "RetryConfig":
    if is_check:
        return {"max_retries": CHECK_RETRIES, "retry_timeout": timedelta(seconds=CHECK_SECONDS)}
    return {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}


def _is_address(endpoint: str) -> bool:
    """Return whether the endpoint is an IP address, which cannot contain a bucket."""
    try:
        ipaddress.ip_address(urlsplit(endpoint).hostname or "")
    except ValueError:
        return False
    return True


@contextmanager
def _translated(path: str, otherwise: ErrorCode) -> Iterator[None]:
    try:
        yield
    except (exceptions.BaseError, ValueError, OSError) as error:
        raise translate(error, path, otherwise) from error
