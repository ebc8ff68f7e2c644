"""Serves the built web page: hashed assets for ever, the page itself never cached, and every route of the page its index."""

import re
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from shardboard.api.deps import TheConsole
from shardboard.errors import NotFound

OF_API = re.compile(r"/v\d+(/|$)")
"""Also of versions that do not exist: whoever asks for them wants no page."""

router = APIRouter(include_in_schema=False)


class Assets(StaticFiles):
    """Their names hold a hash of their content: what a browser has, it never asks for again."""

    async def check_config(self) -> None:
        """A page that is not built has none of them, and that is no fault."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def mount_page(app: FastAPI, directory: Path) -> None:
    """Routes for everything that is not the API; a sentence on how to build the page when it is missing."""
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


@router.api_route("/{path:path}", methods=["GET", "HEAD"])
def page(path: str, request: Request, console: TheConsole) -> Response:
    if OF_API.match(request.url.path):
        raise NotFound("not_found", f"There is nothing at {request.url.path}.")
    directory = console.settings.page_dir
    file = _inside(directory, path)
    if file is not None:
        return FileResponse(file)
    index = directory / "index.html"
    if not index.is_file():
        return PlainTextResponse(
            "The web page is not built. Run `make setup`, or use the API under /v1.", status_code=503
        )
    return FileResponse(index, headers={"Cache-Control": "no-cache"})


def _inside(directory: Path, path: str) -> Path | None:
    """The file of that name within the page, if there is one."""
    try:
        file = (directory / path).resolve()
        return file if path and file.is_file() and file.is_relative_to(directory.resolve()) else None
    except (OSError, ValueError):  # no name that a file could have
        return None
