"""What a scanner of web applications looks for in replies, of every kind that there is: the page, its files, the API, its
refusals."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from backend.tests.application import app_of
from backend.tests.conftest import PASSWORD, USER

from shardboard.console import Console

INDEX = '<!doctype html><title>Shardboard</title><script type="module" src="/assets/app-1a2b.js"></script>'
KINDS = [
    ("GET", "/"),
    ("HEAD", "/"),
    ("GET", "/databases/7"),
    ("GET", "/color-scheme.js"),
    ("GET", "/assets/app-1a2b.js"),
    ("GET", "/assets/none.js"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/v1/bdbs"),
    ("GET", "/v1/cluster"),
    ("GET", "/v1/none"),
    ("GET", "/v9/bdbs"),
    ("DELETE", "/v1/cluster"),
    ("OPTIONS", "/v1/bdbs"),
    ("POST", "/v1/bdbs"),
    ("POST", "/v1/session"),
    ("GET", "/v1/session/sso/start"),
    ("GET", "/%2e%2e/%2e%2e/etc/passwd"),
    ("GET", "/.git/config"),
]


@pytest.fixture
async def browser(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    """By TLS, at a page that is built."""
    page = tmp_path / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text(INDEX)
    (page / "color-scheme.js").write_text("")
    (page / "assets" / "app-1a2b.js").write_text("")
    monkeypatch.setattr(console, "settings", console.settings.model_copy(update={"page_dir": page}))
    has_assets(console, page / "assets", monkeypatch)
    transport = httpx.ASGITransport(app_of(console), client=("192.0.2.9", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console.example") as opened:
        yield opened


def has_assets(console: Console, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application is one for all tests, and its files are those of the first."""
    assets = next(route.app.app for route in app_of(console).routes if getattr(route, "name", "") == "assets")
    monkeypatch.setattr(assets, "all_directories", [directory])


@pytest.mark.parametrize("logged_in", [False, True])
@pytest.mark.parametrize(("method", "path"), KINDS)
async def test_every_reply_keeps_a_browser_strict(
    browser: httpx.AsyncClient, method: str, path: str, *, logged_in: bool
) -> None:
    elsewhere = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    reply = await browser.request(
        method, path, headers=elsewhere, auth=(USER, PASSWORD) if logged_in else None, content=b"{"
    )
    assert reply.status_code < 500, reply.text
    told = reply.headers
    assert told["x-content-type-options"] == "nosniff"
    assert told["x-frame-options"] == "DENY"
    assert told["referrer-policy"] == "same-origin"
    assert told["strict-transport-security"] == "max-age=31536000"
    assert (told["cross-origin-opener-policy"], told["cross-origin-resource-policy"]) == ("same-origin", "same-origin")
    assert told["cross-origin-embedder-policy"] == "require-corp"
    assert "camera=()" in told["permissions-policy"]
    policy = dict(rule.strip().split(" ", 1) for rule in told["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert (policy["object-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'",) * 3
    assert policy["form-action"] == "'self'"
    assert "*" not in told["content-security-policy"]
    assert "unsafe-eval" not in told["content-security-policy"]
    assert ("unsafe-inline" in policy.get("script-src", "")) is (path == "/docs")
    assert [name for name in told if name.startswith("access-control-")] == []
    assert not {"server", "x-powered-by", "via"} & set(told)
    assert not reply.content or told["content-type"]
    if path.startswith(("/v", "/metrics")):
        assert told["cache-control"] == "no-store"
    assert not re.search(r"Traceback|site-packages|root:x:", reply.text)


async def test_the_page_is_asked_for_anew_and_its_files_are_not(browser: httpx.AsyncClient) -> None:
    assert (await browser.get("/")).headers["cache-control"] == "no-cache"
    assert (await browser.get("/nodes")).text == INDEX
    assert "immutable" in (await browser.get("/assets/app-1a2b.js")).headers["cache-control"]
    assert (await browser.get("/.git/config")).text == INDEX, "what is no file of the page is a route of it"


async def test_of_a_page_that_is_not_built_there_are_no_files(
    client: httpx.AsyncClient, console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_assets(console, tmp_path / "none", monkeypatch)
    reply = await client.get("/assets/app-1a2b.js")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "not_found")


async def test_cookies_are_for_this_page_alone(browser: httpx.AsyncClient) -> None:
    reply = await browser.post("/v1/session", json={"username": USER, "password": PASSWORD})
    [cookie] = reply.headers.get_list("set-cookie")
    value, *flags = [each.strip().lower() for each in cookie.split(";")]
    assert len(value.partition("=")[2]) >= 32
    assert {"httponly", "secure", "samesite=strict", "path=/"} <= set(flags)
    assert not any(each.startswith("domain") for each in flags)
    assert value.partition("=")[2] not in reply.text


def test_the_page_starts_no_script_of_its_own_text_and_none_of_others() -> None:
    """What its policy forbids would not run."""
    source = (Path(__file__).parents[3] / "frontend" / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", source) == []
    assert re.findall(r"(?:src|href)=\"(?!/)", source) == []
    assert re.findall(r"\bon\w+=", source) == []
