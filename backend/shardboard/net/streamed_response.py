"""Response with a body of any length, which is generated while it is sent."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from starlette.responses import StreamingResponse
from starlette.types import Message, Send

log = logging.getLogger(__name__)

STALL_SECONDS = 900
"""How long a receiver may accept nothing, for example because a user has paused a download."""


class StreamedResponse(StreamingResponse):
    """Closes its generator when the client disconnects, and ends when the client accepts nothing for a long time.

    If the generator raises, the connection is closed.
    """

    def __init__(self, parts: AsyncGenerator[bytes], *, media_type: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(parts, media_type=media_type, headers=headers)
        self._parts = parts

    async def stream_response(self, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(STALL_SECONDS):
                await send(message)

        try:
            await super().stream_response(send_in_time)
        except Exception as error:
            # The server closes the connection of an incomplete response, so that the client does not regard it as complete.
            log.warning("a response was interrupted: %s", str(error) or type(error).__name__)
        finally:
            await self._parts.aclose()
