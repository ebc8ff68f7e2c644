"""An S3 server (moto) in a separate process. It keeps objects in memory."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from obstore.store import S3Store

from shardboard.local.loopback import free_port

BUCKET = "bucket"
START_SECONDS = 60
_CREDENTIAL = "AWS4-HMAC-SHA256 Credential=backup/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


@contextmanager
def object_store() -> Iterator[str]:
    """Run the server with an empty bucket and yield its URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "--host=127.0.0.1", f"--port={port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_until_listening(process, port)
            httpx.put(f"{url}/{BUCKET}", headers={"Authorization": _CREDENTIAL}, trust_env=False).raise_for_status()
            yield url
        finally:
            process.terminate()


def client(endpoint: str) -> S3Store:
    """Return a client for the bucket."""
    config = {"endpoint": endpoint, "access_key_id": "backup", "secret_access_key": "backup", "region": "us-east-1"}
    options = {"virtual_hosted_style_request": False}
    return S3Store(BUCKET, config={**config, **options}, client_options={"allow_http": True})  # type: ignore[typeddict-item]


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the S3 server did not start; is moto installed?") from None
            time.sleep(0.1)
        else:
            return
