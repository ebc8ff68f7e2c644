"""Base classes of all messages."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hex40 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Port = Annotated[int, Field(ge=1024, le=65535)]


class Message(BaseModel):
    """A message from the console. Unknown fields are rejected, because ignoring a field would ignore part of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(Message):
    """A message from an agent. Unknown fields, added by a newer agent, are ignored (`protocol.py`)."""

    model_config = ConfigDict(extra="ignore", frozen=True)
