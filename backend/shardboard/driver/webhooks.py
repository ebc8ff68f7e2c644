"""Webhooks over HTTP."""

from collections.abc import Mapping

import httpx

from shardboard.driver import tls_trust
from shardboard.driver.interfaces import DeliveryFailed

TIMEOUT = httpx.Timeout(5, connect=3)


class HttpHooks:
    """Client for webhooks. It does not follow redirects."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str], ca: str = "") -> None:
        """Send a message. Raises HookFailed with a message if the response status is not 2xx."""
        try:
            trusted = tls_trust.context(ca)
            async with httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False, verify=trusted) as client:
                reply = await client.post(url, content=body, headers=dict(headers))
        except httpx.TimeoutException:
            raise DeliveryFailed("It did not respond within 5 s.") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise DeliveryFailed(f"It is unreachable: {error}.") from error
        if not reply.is_success:
            raise DeliveryFailed(f"It responded with {reply.status_code} {reply.reason_phrase}.".replace(" .", "."))
