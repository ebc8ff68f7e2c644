"""Two consoles of the demo on a private PostgreSQL server."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shardboard.local.cluster import LocalCluster, LocalError
from shardboard.local.postgres import PostgresUnavailable, PrivateServer, server_account
from shardboard.settings import Settings

SECOND = "console-2"
SETTINGS = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "shared_buffers": "64MB"}
"""The data is kept between two runs."""


def data_directory(state_dir: Path) -> Path:
    """Return the directory of the server. Under root, the server runs as another user, who cannot enter the state directory."""
    if os.geteuid() != 0:
        return state_dir / "postgres"
    return Path("/var/tmp") / f"shardboard-demo-{hashlib.sha256(str(state_dir).encode()).hexdigest()[:12]}"  # noqa: S108


@contextmanager
def running_server(state_dir: Path) -> Iterator[dict[str, str]]:
    """Run the server, and return the variables with which consoles use it. Raises LocalError."""
    directory = data_directory(state_dir)
    try:
        account = server_account()
        directory.mkdir(mode=0o700, exist_ok=True)
        if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
            raise LocalError(f"{directory} belongs to another user; remove it")
        server = PrivateServer(directory, account, SETTINGS)
        try:
            server.start()
            yield {
                "SHARDBOARD_DATABASE_URL": f"postgresql://shardboard@127.0.0.1:{server.port}/postgres",
                "SHARDBOARD_DATABASE_PASSWORD_FILE": str(server.password_file),
            }
        finally:
            server.stop()
    except PostgresUnavailable as error:
        raise LocalError(
            f"{error}. On Debian, `make demo CONSOLES=2` installs it. Otherwise, install it and repeat the command."
        ) from error


def delete_data(state_dir: Path) -> None:
    shutil.rmtree(data_directory(state_dir), ignore_errors=True)
    shutil.rmtree(state_dir / SECOND, ignore_errors=True)


def address_of(http_port: int) -> dict[str, str]:
    """Return the variable with the address at which browsers reach a console of the demo."""
    return {"SHARDBOARD_ADVERTISE_URL": f"http://localhost:{http_port}"}


def second_http_port(settings: Settings) -> int:
    return settings.http_port + 1


def start_second_console(cluster: LocalCluster, settings: Settings) -> None:
    """Start the second console, on the ports after those of the first one, and wait until it is listed."""
    environment = {
        "SHARDBOARD_HTTPS_PORT": str(settings.https_port + 1),
        "SHARDBOARD_HTTP_PORT": str(second_http_port(settings)),
        "SHARDBOARD_METRICS_PORT": str(settings.metrics_port + 1 if settings.metrics_port else 0),
        **address_of(second_http_port(settings)),
    }
    cluster.spawn_console(SECOND, environment)

    def is_running() -> bool:
        rows = cluster.api.get("/v1/consoles").raise_for_status().json()
        return [row["status"] for row in rows].count("running") == 2

    cluster.wait_until(is_running, "the second console did not start")
