"""Headers of every reply: the cluster state id and security headers."""

from fastapi import FastAPI
from starlette.datastructures import URL, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shardboard.api.http.web_ui import API_PATH
from shardboard.console import Console

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), usb=()",
    # Browsers keep pages of other sites out of the web UI's process, and other sites cannot embed it.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HSTS = "max-age=31536000"
"""One year: a browser that has visited the site never uses plain HTTP again. Not sent for `localhost`, because its other ports can
belong to other programs."""
METRICS = "/metrics"
DOCS = "/docs"
"""Path of the API documentation. FastAPI's page starts with an inline script, which is allowed only there."""


def install_response_headers(app: FastAPI) -> None:
    app.add_middleware(ResponseHeadersMiddleware)


class ResponseHeadersMiddleware:
    """Middleware that adds the headers. It is plain ASGI because wrapping the response would buffer the event stream."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        console: Console = scope["app"].state.console

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["cluster-state-id"] = str(console.store.state_id)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https" and not _is_localhost(scope):
                    headers.setdefault("Strict-Transport-Security", HSTS)
                if scope["path"] == DOCS:
                    policy = SECURITY_HEADERS["Content-Security-Policy"]
                    headers["Content-Security-Policy"] = f"{policy}; script-src 'self' 'unsafe-inline'"
                if API_PATH.match(scope["path"]) or scope["path"] == METRICS:
                    headers.setdefault("Cache-Control", "no-store")
                elif origins := " ".join(console.presence.other_origins):
                    # The web UI looks for another console, and continues there, if this one no longer responds.
                    policy = headers["Content-Security-Policy"]
                    policy = policy.replace("form-action 'self'", f"form-action 'self' {origins}")
                    headers["Content-Security-Policy"] = f"{policy}; connect-src 'self' {origins}"
            await send(message)

        await self._app(scope, receive, with_headers)


def _is_localhost(scope: Scope) -> bool:
    return URL(scope=scope).hostname == "localhost"
