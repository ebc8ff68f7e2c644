"""Webhooks over HTTP."""

import asyncio
from collections.abc import Mapping

import httpx

from shardboard.driver import tls_trust
from shardboard.driver.interfaces import DeliveryFailed

TIMEOUT_SECONDS = 5.0
"""Limit for a complete delivery, from the query of the host name to the status of the response."""
MAX_REASON_LENGTH = 100


class HttpHooks:
    """Client for webhooks. It does not follow redirects, and reads only the status of a response."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str], ca: str = "") -> None:
        """Send a message. Raises DeliveryFailed with a message if the response status is not 2xx."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status, reason = await _post(url, body, headers, ca)
        except (httpx.TimeoutException, TimeoutError):
            raise DeliveryFailed(f"It did not respond within {TIMEOUT_SECONDS:g} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise DeliveryFailed(f"It is unreachable: {error}.") from error
        if not 200 <= status < 300:
            raise DeliveryFailed(f"It responded with {status} {reason[:MAX_REASON_LENGTH]}.".replace(" .", "."))


async def _post(url: str, body: bytes, headers: Mapping[str, str], ca: str) -> tuple[int, str]:
    """Return the status and the reason of the response. The connection is closed without reading the rest of it."""
    headers = {**headers, "Accept-Encoding": "identity"}
    async with (
        httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False, verify=tls_trust.context(ca)) as client,
        client.stream("POST", url, content=body, headers=headers) as reply,
    ):
        return reply.status_code, reply.reason_phrase
