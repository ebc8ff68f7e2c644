"""Tests of settings in environment variables and in files named by them."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from shardboard.settings import Settings


@pytest.mark.parametrize(
    ("configured", "url"),
    [
        ("postgresql://ann@db.example.org/shop", "postgresql+asyncpg://ann@db.example.org/shop"),
        ("postgres://ann:x@db.example.org/shop", "postgresql+asyncpg://ann:x@db.example.org/shop"),
        ("postgresql+asyncpg:///shop?host=/run/pg", "postgresql+asyncpg:///shop?host=%2Frun%2Fpg"),
        ("sqlite+aiosqlite:////tmp/x.db", "sqlite+aiosqlite:////tmp/x.db"),
    ],
)
def test_database_driver_is_added_to_the_url(configured: str, url: str) -> None:
    assert Settings(database_url=configured).store_url == url


def test_default_store_is_in_the_state_directory(tmp_path: Path) -> None:
    assert Settings(state_dir=tmp_path).store_url == f"sqlite+aiosqlite:///{tmp_path}/console.db"


def test_directory_of_the_web_ui_also_has_its_previous_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARDBOARD_PAGE_DIR", "/previous")
    assert Settings().web_ui_dir == Path("/previous")
    monkeypatch.setenv("SHARDBOARD_WEB_UI_DIR", "/current")
    assert Settings().web_ui_dir == Path("/current")
    assert Settings(web_ui_dir=Path("/argument")).web_ui_dir == Path("/argument")


def test_passwords_can_be_in_files(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("p@ss/word\n")
    settings = Settings(
        admin_password=SecretStr("another"),
        admin_password_file=secret,
        database_url="postgresql://ann@db.example.org/shop",
        database_password_file=secret,
    )
    assert settings.configured_password == "p@ss/word"
    assert settings.store_url == "postgresql+asyncpg://ann:p%40ss%2Fword@db.example.org/shop"
    assert Settings(admin_password=SecretStr("another")).configured_password == "another"
    assert Settings().configured_password is None


def test_error_names_the_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="database_password_file"):
        Settings(database_password_file=tmp_path / "nowhere")
