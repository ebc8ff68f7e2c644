"""Requests to a console, with its errors as messages and exit statuses."""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from shardboard import __version__
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.errors import CommandError

POLL_SECONDS = 0.5
TRANSPORT: httpx.BaseTransport | None = None
"""Transport of all requests; None: the network. Tests replace it."""
UNREACHABLE_SECONDS = 60
"""Number of seconds for which a wait continues although the console is unreachable."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Hosts to which credentials can be sent without TLS."""
_FINISHED = frozenset({ActionStatus.COMPLETED, ActionStatus.FAILED, ActionStatus.CANCELLED})

FAILED, NOT_FOUND, DENIED, CONFLICT, UNREACHABLE, TIMED_OUT = 1, 3, 4, 5, 6, 7
"""Exit statuses. 2 is an error in the command line."""
_EXIT_STATUS = {401: DENIED, 403: DENIED, 404: NOT_FOUND, 409: CONFLICT, 412: CONFLICT, 503: UNREACHABLE}


class RequestRejected(CommandError):
    """The console rejected a request, with the HTTP `status` and the error `code`."""

    def __init__(self, status: int, code: str, description: str) -> None:
        super().__init__(description)
        self.status = status
        self.code = code
        self.exit_status = _EXIT_STATUS.get(status, FAILED)


class ConsoleUnreachable(CommandError):
    exit_status = UNREACHABLE


class WaitTimedOut(CommandError):
    exit_status = TIMED_OUT


class ActionFailed(CommandError):
    """An action ended with another status than `completed`."""


class Connection:
    """A console. All methods raise CommandError."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    @property
    def url(self) -> str:
        return str(self._client.base_url).rstrip("/")

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the object or list at a path."""
        return self.send("GET", path, parameters=parameters)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the decoded body of the response."""
        return self._reply(method, path, body, parameters=parameters, headers=headers).json()

    def _reply(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        kept = {name: value for name, value in (parameters or {}).items() if value is not None}
        try:
            reply = self._client.request(method, path, json=body, params=kept, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConsoleUnreachable(f"the console at {self.url} is unreachable: {error}") from error
        if reply.status_code != httpx.codes.OK:
            raise _rejection(reply)
        return reply

    def text(self, path: str) -> str:
        """Return the text at a path, such as a certificate."""
        return self._reply("GET", path).text

    def wait(
        self, action_uid: str, *, seconds: float, show: Callable[[Mapping[str, Any]], None] = lambda _: None
    ) -> dict[str, Any]:
        """Wait until an action is completed, and return it. `show` is called with each state of it.

        Raises ActionFailed if it fails or is cancelled, and WaitTimedOut after `seconds`.
        """
        deadline = time.monotonic() + seconds
        unreachable_until = None
        while True:
            try:
                action: dict[str, Any] = self.get(f"/v2/actions/{action_uid}")
                unreachable_until = None
            except ConsoleUnreachable:  # the action continues while a console restarts
                unreachable_until = unreachable_until or time.monotonic() + UNREACHABLE_SECONDS
                if time.monotonic() > unreachable_until:
                    raise
            else:
                show(action)
                if action["status"] in _FINISHED:
                    return _completed(action)
            if time.monotonic() + POLL_SECONDS > deadline:
                raise WaitTimedOut(f"the action {action_uid} did not end within {seconds:g} s; it continues")
            time.sleep(POLL_SECONDS)


def _completed(action: dict[str, Any]) -> dict[str, Any]:
    information = action["additional_info"]
    if action["status"] != ActionStatus.COMPLETED:
        reason = information.get("error") or information["description"]
        raise ActionFailed(f"the action {action['action_uid']} is {action['status']}: {reason}")
    return action


def _rejection(reply: httpx.Response) -> RequestRejected:
    try:
        content = reply.json()
    except ValueError:
        content = None
    error = content if isinstance(content, dict) else {}
    description = error.get("description") or f"the console returned status {reply.status_code}"
    return RequestRejected(reply.status_code, str(error.get("error_code", "")), str(description))


def require_protection(url: str) -> None:
    """Raise CommandError if the URL would send credentials to another machine without TLS."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _THIS_MACHINE):
        raise CommandError(f"{url} is not a URL such as https://console.example.org:9443")


def trust(ca: str | None) -> ssl.SSLContext:
    """Return the TLS settings that trust the certificates `ca` (PEM); None: those of the operating system."""
    try:
        context = ssl.create_default_context(cadata=ca)
    except ssl.SSLError as error:
        raise CommandError("the CA certificate is not valid PEM") from error
    # A CA that is itself signed by another one is accepted as it is.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return context


@contextmanager
def open_client(url: str, ca: str | None, auth: httpx.Auth | tuple[str, str] | None) -> Iterator[httpx.Client]:
    """Yield a client of a console. Proxies of the environment are not used, as for the other commands."""
    try:
        client = httpx.Client(
            base_url=url,
            auth=auth,
            verify=trust(ca),
            trust_env=False,
            timeout=30,
            transport=TRANSPORT,
            headers={"User-Agent": f"shardboard/{__version__}"},
        )
    except (httpx.InvalidURL, ValueError) as error:
        raise CommandError(f"{url} is not a URL such as https://console.example.org:9443") from error
    with client:
        yield client


class BearerToken(httpx.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request
