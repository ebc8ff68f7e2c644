"""What all messages have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Hex40 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Port = Annotated[int, Field(ge=1024, le=65535)]


class Message(BaseModel):
    """Unknown fields are an error: both sides run the same release, a stranger must not pass unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True)
