"""Tests that only pages of the web UI return the web UI."""

import re
from pathlib import Path

import httpx
import pytest

from shardboard.api.http.web_ui import PAGES, is_ui_page
from shardboard.console import Console

APP = Path(__file__).parents[4] / "frontend" / "src" / "app"
ROUTER = APP / "router.tsx"
_ROUTE = re.compile(
    r"const (\w+) = createRoute\(\{\s*getParentRoute: \(\) => (\w+),\s*(?:path: '([^']*)'|id: '[^']*')", re.DOTALL
)
NAVIGATION = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def web_ui(console: Console) -> None:
    directory = console.settings.web_ui_dir
    directory.mkdir(exist_ok=True)
    (directory / "index.html").write_text("<title>web UI</title>")
    (directory / "favicon.svg").write_text("<svg/>")


def router_paths() -> set[str]:
    paths = {"root": ""}
    for name, parent, path in _ROUTE.findall(ROUTER.read_text()):
        paths[name] = f"{paths[parent]}/{path}".rstrip("/") if path else paths[parent]
    moved = re.findall(r"^  '?([\w/$]+)'?: \{ to:", (APP / "movedPages.ts").read_text(), re.MULTILINE)
    pages = [path for path in paths.values() if not path.endswith("$")] + [f"/{path}" for path in moved]
    return {re.sub(r"\$(\w+)", r"{\1}", path) or "/" for path in pages}


def test_pages_are_those_of_the_router() -> None:
    assert len(PAGES) == len(set(PAGES))
    assert router_paths() == set(PAGES)


@pytest.mark.usefixtures("web_ui")
@pytest.mark.parametrize("page", PAGES)
async def test_pages_return_the_web_ui(browser: httpx.AsyncClient, page: str) -> None:
    address = page.replace("{uid}", "1")
    for reply in (await browser.get(address), await browser.head(address), await browser.get(f"{address}?range=1h")):
        assert (reply.status_code, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")


@pytest.mark.usefixtures("web_ui")
@pytest.mark.parametrize(
    "path",
    [
        "/health",
        "/healthz",
        "//v1/bdbs",
        "/V1/bdbs",
        "/v9/bdbs",
        "/crdb_tasks",
        "/bdbs",
        "/databases/1/x",
        "/nodes/1/2",
        "/.env",
    ],
)
async def test_other_paths_do_not_exist(browser: httpx.AsyncClient, path: str) -> None:
    for method in ("GET", "HEAD", "POST", "DELETE"):
        reply = await browser.request(method, f"https://console{path}")
        assert (reply.status_code, reply.headers["content-type"]) == (404, "application/json"), method
        assert method == "HEAD" or reply.json()["error_code"] == "not_found"
    assert not is_ui_page(path)


@pytest.mark.usefixtures("web_ui")
async def test_browsers_see_the_web_ui_with_status_404(browser: httpx.AsyncClient) -> None:
    reply = await browser.get("/databases/1/x", headers=NAVIGATION)
    assert (reply.status_code, "web UI" in reply.text) == (404, True)
    assert (await browser.get("/V1/bdbs", headers=NAVIGATION)).headers["content-type"] == "application/json"
    assert (await browser.get("/favicon.svg")).status_code == 200
    assert (await browser.get("/databases/")).status_code == 200
