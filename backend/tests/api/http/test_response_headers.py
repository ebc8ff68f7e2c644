"""Tests of the headers that scanners of web applications check, for all kinds of replies: web UI, its files, API and errors."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.app_factory import app_for

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
    """A client that uses TLS and a built web UI."""
    page = tmp_path / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text(INDEX)
    (page / "color-scheme.js").write_text("")
    (page / "assets" / "app-1a2b.js").write_text("")
    monkeypatch.setattr(console, "settings", console.settings.model_copy(update={"web_ui_dir": page}))
    serve_assets(console, page / "assets", monkeypatch)
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.9", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console.example") as browser:
        yield browser


def serve_assets(console: Console, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve the assets in `directory`. All tests share one application, which serves the assets of the first test by default."""
    assets = next(route.app.app for route in app_for(console).routes if getattr(route, "name", "") == "assets")
    monkeypatch.setattr(assets, "all_directories", [directory])


@pytest.mark.parametrize("logged_in", [False, True])
@pytest.mark.parametrize(("method", "path"), KINDS)
async def test_every_reply_has_security_headers(
    browser: httpx.AsyncClient, method: str, path: str, *, logged_in: bool
) -> None:
    cross_origin = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    reply = await browser.request(
        method, path, headers=cross_origin, auth=(USER, PASSWORD) if logged_in else None, content=b"{"
    )
    assert reply.status_code < 500, reply.text
    reply_headers = reply.headers
    assert reply_headers["x-content-type-options"] == "nosniff"
    assert reply_headers["x-frame-options"] == "DENY"
    assert reply_headers["referrer-policy"] == "same-origin"
    assert reply_headers["strict-transport-security"] == "max-age=31536000"
    assert (reply_headers["cross-origin-opener-policy"], reply_headers["cross-origin-resource-policy"]) == (
        "same-origin",
        "same-origin",
    )
    assert reply_headers["cross-origin-embedder-policy"] == "require-corp"
    assert "camera=()" in reply_headers["permissions-policy"]
    policy = dict(rule.strip().split(" ", 1) for rule in reply_headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert (policy["object-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'",) * 3
    assert policy["form-action"] == "'self'"
    assert "*" not in reply_headers["content-security-policy"]
    assert "unsafe-eval" not in reply_headers["content-security-policy"]
    assert ("unsafe-inline" in policy.get("script-src", "")) is (path == "/docs")
    assert [name for name in reply_headers if name.startswith("access-control-")] == []
    assert not {"server", "x-powered-by", "via"} & set(reply_headers)
    assert not reply.content or reply_headers["content-type"]
    if path.startswith(("/v", "/metrics")):
        assert reply_headers["cache-control"] == "no-store"
    assert not re.search(r"Traceback|site-packages|root:x:", reply.text)


async def test_web_ui_is_revalidated_but_its_assets_are_cached(browser: httpx.AsyncClient) -> None:
    assert (await browser.get("/")).headers["cache-control"] == "no-cache"
    assert (await browser.get("/nodes")).text == INDEX
    assert "immutable" in (await browser.get("/assets/app-1a2b.js")).headers["cache-control"]
    assert (await browser.get("/.git/config")).status_code == 404


async def test_assets_are_not_found_if_the_web_ui_is_not_built(
    client: httpx.AsyncClient, console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_assets(console, tmp_path / "none", monkeypatch)
    reply = await client.get("/assets/app-1a2b.js")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "not_found")


async def test_session_cookie_is_restricted_to_the_web_ui(browser: httpx.AsyncClient) -> None:
    reply = await browser.post("/v1/session", json={"username": USER, "password": PASSWORD})
    [cookie] = reply.headers.get_list("set-cookie")
    value, *flags = [each.strip().lower() for each in cookie.split(";")]
    assert len(value.partition("=")[2]) >= 32
    assert {"httponly", "secure", "samesite=strict", "path=/"} <= set(flags)
    assert not any(each.startswith("domain") for each in flags)
    assert value.partition("=")[2] not in reply.text


def test_web_ui_has_no_inline_or_external_scripts() -> None:
    """The content security policy forbids them, so they would not run."""
    source = (Path(__file__).parents[4] / "frontend" / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", source) == []
    assert re.findall(r"(?:src|href)=\"(?!/)", source) == []
    assert re.findall(r"\bon\w+=", source) == []
