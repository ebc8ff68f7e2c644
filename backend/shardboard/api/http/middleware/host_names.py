"""Rejection of unknown host names on loopback listeners.

A web site can make its own host name resolve to 127.0.0.1 (DNS rebinding) and then read the replies of a loopback port. The
requests still contain that host name.
"""

import ipaddress
import re
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from shardboard.api.http.error_replies import error_reply
from shardboard.api.http.middleware.response_headers import SECURITY_HEADERS
from shardboard.console import Console
from shardboard.kit.addresses import normal_name

_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")


def with_host_check(app: ASGIApp, console: Console, address: str) -> ASGIApp:
    """Return the app for a listener on `address`. On a loopback address, it accepts known host names only."""
    return HostCheckMiddleware(app, console) if _is_loopback(address) else app


class HostCheckMiddleware:
    """Middleware that accepts loopback names, SHARDBOARD_PUBLIC_NAMES and the names in the console's certificates."""

    def __init__(self, app: ASGIApp, console: Console) -> None:
        self._app = app
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_allowed_host(Headers(scope=scope).get("host", ""), self._names()):
            await self._app(scope, receive, send)
            return
        message = (
            "This port does not serve the host name of the request. To allow a name, add it to SHARDBOARD_PUBLIC_NAMES and restart "
            "the console."
        )
        reply = error_reply(421, "unknown_host", message)
        reply.headers.update({**SECURITY_HEADERS, "Cache-Control": "no-store"})
        await reply(scope, receive, send)

    def _names(self) -> set[str]:
        public = {normal_name(name) for name in self._console.settings.public_names}
        return {*public, *self._console.ca.names, *map(normal_name, self._console.certificate.identity.names)}


def is_allowed_host(host: str, names: Collection[str]) -> bool:
    """Return whether the host of a `Host` header is a loopback name or in `names`, which can contain wildcards."""
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = normal_name(match["ipv6"] or match["name"].rstrip("."))
    wildcard = f"*.{name.partition('.')[2]}"
    return _is_loopback(name) or name in names or wildcard in names


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
