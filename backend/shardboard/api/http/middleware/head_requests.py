"""HEAD: the status and headers of the response to GET, without a body, on every path."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class _HeadersSent(OSError):
    """Ends a handler whose response is larger than one part, such as an export or an event stream."""


class HeadMiddleware:
    """Middleware that handles HEAD as GET and discards the body. It must be the outermost one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_headers(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            if message.get("more_body", False):
                raise _HeadersSent

        try:
            # Servers of this specification version report a closed connection as an OSError of `send`.
            asgi = {**scope.get("asgi", {}), "spec_version": "2.4"}
            await self._app({**scope, "method": "GET", "asgi": asgi}, receive, send_headers)
        except Exception as error:
            if not _is_caused_by_headers_sent(error):
                raise


def _is_caused_by_headers_sent(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, _HeadersSent):
        error = error.__cause__ or error.__context__
    return error is not None
