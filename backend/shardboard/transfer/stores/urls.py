"""Files at HTTP and HTTPS URLs, which are only read."""

import ssl
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

from shardboard.contract.locations import Url
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.store import StoredFile

TIMEOUT = httpx.Timeout(60, connect=10)
PIECE_BYTES = 2**20


class WebFile:
    """One file. Implements Store; paths are ignored."""

    def __init__(self, location: Url) -> None:
        self._url = location.url
        self._host = "the server"
        with self._translated():
            self._host = urlsplit(location.url).hostname or self._host
            trust = ssl.create_default_context(cadata=location.ca_cert or None)
            proxy = location.proxy_url or None
            self._http = httpx.Client(verify=trust, proxy=proxy, timeout=TIMEOUT, follow_redirects=True)

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        raise _read_only()

    def read(self, path: str) -> Generator[bytes]:
        """Yield the content as it was stored, without decoding."""
        with self._translated(), self._http.stream("GET", self._url, headers={"Accept-Encoding": "identity"}) as reply:
            if reply.status_code != httpx.codes.OK:
                raise _refused(reply.status_code, self._host)
            expected, received = reply.headers.get("Content-Length", ""), 0
            for part in reply.iter_raw(PIECE_BYTES):
                received += len(part)
                yield part
            if expected.isdecimal() and received != int(expected):
                raise TransferError("download-error", f"{self._host} closed the connection before the end of the file.")

    def list(self, folder: str) -> Iterator[StoredFile]:
        raise _read_only()

    def delete(self, paths: Sequence[str]) -> None:
        raise _read_only()

    def remove_incomplete(self, folder: str) -> None:
        """Web servers are only read."""

    def close(self) -> None:
        self._http.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise TransferError("download-error", f"{self._host} did not respond in time.") from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
            reason = str(error).rstrip(".") or type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in reason:
                message = f"The certificate of {self._host} is not trusted: {reason}. Add its CA to the location."
            else:
                message = f"The request to {self._host} failed: {reason}."
            raise TransferError("download-error", message) from error


def _refused(status: int, host: str) -> TransferError:
    match status:
        case 401 | 403:
            return TransferError("no-permission", f"{host} denied access to the file (status {status}).")
        case 404 | 410:
            return TransferError("wrong-file-path", f"The file does not exist on {host} (status {status}).")
    return TransferError("download-error", f"{host} returned status {status}.")


def _read_only() -> TransferError:
    return TransferError("general-error", "A URL is a source of imports. It cannot be written, listed or deleted.")
