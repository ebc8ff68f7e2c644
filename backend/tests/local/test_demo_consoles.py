"""Tests of the demo with two consoles."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import asyncpg
import pytest

from shardboard.local import demo_consoles, postgres
from shardboard.local.cluster import LocalError
from shardboard.local.demo import Demo
from shardboard.settings import Settings


@pytest.mark.parametrize(("stored", "requested"), [(None, 2), (2, 1)])
def test_demo_with_another_number_of_consoles_is_refused(tmp_path: Path, stored: int | None, requested: int) -> None:
    login = {"user": "a", "password": "b", **({"consoles": stored} if stored else {})}
    (tmp_path / "demo-login.json").write_text(json.dumps(login))
    demo = Demo(Settings(state_dir=tmp_path), requested)
    with pytest.raises(LocalError, match=f"--consoles {stored or 1}; delete it with `make clean-demo`"):
        demo.run()
    assert not (tmp_path / "logs").exists(), "nothing was started"


def test_missing_postgresql_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres.shutil, "which", lambda _: None)
    monkeypatch.setattr(postgres.Path, "glob", lambda *_: [])
    try:
        with (
            pytest.raises(LocalError, match=r"PostgreSQL >= 14 is required and was not found.*make demo CONSOLES=2"),
            demo_consoles.running_server(tmp_path),
        ):
            pass
    finally:
        demo_consoles.delete_data(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="the directory is in /var/tmp only for root")
def test_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    directory = demo_consoles.data_directory(tmp_path)
    directory.symlink_to(tmp_path)
    try:
        with pytest.raises(LocalError, match="belongs to another user"), demo_consoles.running_server(tmp_path):
            pass
    finally:
        directory.unlink()


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("SHARDBOARD_TEST_POSTGRES_URL"), reason="needs PostgreSQL")
def test_server_keeps_its_data_until_it_is_deleted(tmp_path: Path) -> None:
    async def fetch(url: str, password: str, statement: str) -> object:
        connection = await asyncpg.connect(url, password=password)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    def execute(variables: dict[str, str], statement: str) -> object:
        password = Path(variables["SHARDBOARD_DATABASE_PASSWORD_FILE"]).read_text()
        return asyncio.run(fetch(variables["SHARDBOARD_DATABASE_URL"], password, statement))

    try:
        with demo_consoles.running_server(tmp_path) as variables:
            execute(variables, "CREATE TABLE kept AS SELECT 42 AS value")
        with demo_consoles.running_server(tmp_path) as variables:
            assert execute(variables, "SELECT value FROM kept") == 42
    finally:
        demo_consoles.delete_data(tmp_path)
        shutil.rmtree(tmp_path, ignore_errors=True)
    assert not demo_consoles.data_directory(tmp_path).exists()
