"""Tests of database URLs as users write them."""

import pytest

from shardboard.kit.database_url import parse, secrets_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://ann:x@db/shop", "postgresql+asyncpg://ann:x@db/shop"),
        ("postgres://ann@a:6432,b/shop", "postgresql+asyncpg://ann@/shop?host=a%2Cb&port=6432%2C5432"),
        ("postgresql://ann:x%40y@[::1]:1,[fe80::1]:2/shop?sslmode=require", "host=%3A%3A1%2Cfe80%3A%3A1&port=1%2C2"),
        ("postgresql://%2Frun%2Fpg,b/shop", "host=%2Frun%2Fpg%2Cb&port=5432%2C5432"),
        ("postgresql://a,b/shop?application_name=x@y", "postgresql+asyncpg:///shop?application_name=x%40y&host=a%2Cb"),
        ("postgresql:///?user=ann&password=x&dbname=shop&host=/run/pg", "//ann:x@/shop?host=%2Frun%2Fpg"),
        ("sqlite+aiosqlite:////tmp/x.db", "sqlite+aiosqlite:////tmp/x.db"),
    ],
)
def test_url_is_translated(text: str, expected: str) -> None:
    assert expected in parse(text).render_as_string(hide_password=False)


@pytest.mark.parametrize(
    "text",
    ["nonsense", "postgresql://ann:secret@db:port/x", "postgresql://ann:secret@a,:5/x", "postgresql://a,b/x?host=c"],
)
def test_invalid_url_is_reported_without_its_password(text: str) -> None:
    with pytest.raises(ValueError, match="SHARDBOARD_DATABASE_URL") as failure:
        parse(text)
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("postgresql://ann:x%40y@a,b/shop?sslpassword=z", {"x@y", "z"}),
        ("postgresql://db/shop?user=ann&password=x", {"x"}),
        ("postgresql://ann@db/shop", set()),
        ("invalid:secret", {"invalid:secret"}),
    ],
)
def test_passwords_in_urls_are_secrets(text: str, secrets: set[str]) -> None:
    assert secrets_of(text) == secrets
