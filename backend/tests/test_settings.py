"""What the console is told by its environment, and by files whose names are there."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from shardboard.settings import Settings


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("postgresql://ann@db.example.org/shop", "postgresql+asyncpg://ann@db.example.org/shop"),
        ("postgres://ann:x@db.example.org/shop", "postgresql+asyncpg://ann:x@db.example.org/shop"),
        ("postgresql+asyncpg:///shop?host=/run/pg", "postgresql+asyncpg:///shop?host=%2Frun%2Fpg"),
        ("sqlite+aiosqlite:////tmp/x.db", "sqlite+aiosqlite:////tmp/x.db"),
    ],
)
def test_the_driver_is_filled_in(given: str, url: str) -> None:
    assert Settings(database_url=given).store_url == url


def test_the_store_is_in_the_state_directory(tmp_path: Path) -> None:
    assert Settings(state_dir=tmp_path).store_url == f"sqlite+aiosqlite:///{tmp_path}/console.db"


def test_passwords_may_be_in_files(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("p@ss/word\n")
    made = Settings(
        admin_password=SecretStr("another"),
        admin_password_file=secret,
        database_url="postgresql://ann@db.example.org/shop",
        database_password_file=secret,
    )
    assert made.given_password == "p@ss/word"
    assert made.store_url == "postgresql+asyncpg://ann:p%40ss%2Fword@db.example.org/shop"
    assert Settings(admin_password=SecretStr("another")).given_password == "another"
    assert Settings().given_password is None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="database_password_file"):
        Settings(database_password_file=tmp_path / "nowhere")
