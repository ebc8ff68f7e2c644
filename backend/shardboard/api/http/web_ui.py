"""Static files of the web UI. Hashed assets are cached forever. The index is never cached; all pages of the web UI return it."""

import re
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from shardboard.api.http.dependencies import ConsoleDep
from shardboard.errors import NotFound

API_PATH = re.compile(r"/+v\d+(/|$)", re.IGNORECASE)
"""Paths of the API, including misspelled ones and versions that do not exist. They never return the web UI."""
PAGES = (
    "/",
    "/activity",
    "/activity/actions",
    "/activity/alarms",
    "/activity/audit",
    "/activity/events",
    "/activity/incidents",
    "/activity/incidents/{uid}",
    "/activity/timeline",
    "/alarms",
    "/audit",
    "/availability",
    "/backups",
    "/benchmarks",
    "/benchmarks/compare",
    "/benchmarks/new",
    "/benchmarks/scenarios",
    "/benchmarks/scenarios/{uid}",
    "/benchmarks/{uid}",
    "/cluster/metrics",
    "/databases",
    "/databases/availability",
    "/databases/backups",
    "/databases/new",
    "/databases/{uid}",
    "/databases/{uid}/availability",
    "/databases/{uid}/backups",
    "/databases/{uid}/configuration",
    "/databases/{uid}/endpoint",
    "/databases/{uid}/events",
    "/databases/{uid}/metrics",
    "/databases/{uid}/shards",
    "/device",
    "/events",
    "/guide/{page}",
    "/login",
    "/nodes",
    "/nodes/{uid}",
    "/notifications",
    "/settings",
    "/timeline",
    "/timeline/incident/{uid}",
    "/users",
)
"""Pages of the web UI: the routes of `frontend/src/app/router.tsx` and the old addresses in `movedPages.ts`."""
_PAGE = re.compile("|".join(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(page)) for page in PAGES))

router = APIRouter(include_in_schema=False)


class Assets(StaticFiles):
    """Hashed assets. Their names contain a hash of the content, so browsers can cache them forever."""

    async def check_config(self) -> None:
        """Accept a missing directory: the web UI may not be built."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def mount_web_ui(app: FastAPI, directory: Path) -> None:
    """Add routes for all paths outside the API. If the web UI is not built, they return how to build it."""
    assets = Assets(directory=directory / "assets", check_dir=False)
    app.mount("/assets", GZipMiddleware(assets, compresslevel=6), name="assets")
    app.include_router(router)


@router.get("/docs")
def documentation(request: Request) -> HTMLResponse:
    app: FastAPI = request.app
    return get_swagger_ui_html(
        openapi_url=app.openapi_url or "",
        title=f"{app.title}: REST API",
        swagger_js_url="/docs-assets/swagger-ui-bundle.js",
        swagger_css_url="/docs-assets/swagger-ui.css",
        swagger_favicon_url="/favicon.svg",
    )


@router.get("/{path:path}")
def serve_web_ui(path: str, request: Request, console: ConsoleDep) -> Response:
    directory = console.settings.web_ui_dir
    file = _path_inside(directory, path)
    if file is not None:
        return FileResponse(file)
    is_page = is_ui_page(request.scope["path"])
    if not is_page and (API_PATH.match(request.scope["path"]) or not _is_navigation(request)):
        raise NotFound("not_found", f"The path {request.scope['path']} does not exist.")
    index = directory / "index.html"
    if not index.is_file():
        return PlainTextResponse(
            "The web UI is not built. Run `make setup`, or use the API under /v1.", status_code=503
        )
    return FileResponse(index, 200 if is_page else 404, headers={"Cache-Control": "no-cache"})


def is_ui_page(path: str) -> bool:
    """Return whether the web UI has a page with this path."""
    return _PAGE.fullmatch(path.rstrip("/") or "/") is not None


def _is_navigation(request: Request) -> bool:
    """Return whether a user opens the address in a browser. The web UI then shows that there is no such page."""
    return "text/html" in request.headers.get("accept", "")


def is_ui_path(path: str, max_bytes: int) -> bool:
    """Return whether this is a path of this site in any browser's interpretation, and not too long."""
    is_here = path.startswith("/") and path[1:2] not in ("/", "\\")
    return is_here and path.isprintable() and len(path.encode()) <= max_bytes


def _path_inside(directory: Path, path: str) -> Path | None:
    """Return the file with this name inside the directory; None if it does not exist."""
    try:
        file = (directory / path).resolve()
        return file if path and file.is_file() and file.is_relative_to(directory.resolve()) else None
    except (OSError, ValueError):  # not a valid file name
        return None
