"""What all messages have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hex40 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Port = Annotated[int, Field(ge=1024, le=65535)]


class Message(BaseModel):
    """What the console says. A field that is not known is an order that would be forgotten: it is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(Message):
    """What an agent says. Fields that a newer one has added are ignored (`protocol.py`)."""

    model_config = ConfigDict(extra="ignore", frozen=True)
