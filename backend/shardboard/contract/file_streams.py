"""Messages about file streams: a file of a location whose content an agent sends to the console, or receives from it.

A stream belongs to one request. If the connection breaks or the agent ends, its process ends, and an incomplete file never becomes
visible.
"""

from typing import Annotated, Literal

from pydantic import Field

from shardboard.contract.base import Count, Hex64, Message
from shardboard.contract.locations import Location
from shardboard.contract.transfers import Path


class SendFile(Message):
    """Sends the content of a file. The last part is sent after size and checksum were compared, so that a changed file is never
    received completely.
    """

    kind: Literal["send_file"] = "send_file"
    location: Location
    path: Path
    bytes: Count
    sha256: Hex64 | None = None


class ReceiveFile(Message):
    """Writes a file of `bytes` bytes. Result: `{"bytes", "sha256"}`.

    The request contains this message as JSON, a line feed, and the content.
    """

    kind: Literal["receive_file"] = "receive_file"
    location: Location
    path: Path
    bytes: Count


FileStream = Annotated[SendFile | ReceiveFile, Field(discriminator="kind")]
MAX_HEADER_BYTES = 2**20
"""Of the first line of a request. Certificates and keys have up to 64 KiB each."""
