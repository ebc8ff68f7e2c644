"""Base classes of all messages."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from shardboard.contract.protocol import PROTOCOL, RENAMED_IN

Hex64 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hex40 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Port = Annotated[int, Field(ge=1024, le=65535)]

MAX_SHARDS = 5_000
"""Shards of one node: one for each port from 20000 to 24999."""
MAX_DATABASES = 10_000
"""Databases of one cluster: one for each port from 10000 to 19999."""

# Limits of replies. They are above what agents send, so that only a faulty or hostile agent exceeds them.
Uid = Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[float, Field(ge=-1e19, le=1e19)]
"""A finite number."""
Count = Annotated[int, Field(ge=0, le=2**53)]
"""A number of bytes, processes or events."""
Name = Annotated[str, Field(max_length=512)]
"""A name, version or identifier."""
Text = Annotated[str, Field(max_length=16_384)]
"""A message or path."""


class Message(BaseModel):
    """A message from the console. Unknown fields are rejected, because ignoring a field would ignore part of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(Message):
    """A message from an agent. Unknown fields, added by a newer agent, are ignored (`protocol.py`). Each string, list, map and
    number has a limit, because a faulty or hostile agent must not affect the console.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)


class RenamedFields(BaseModel):
    """Fields that have other names in protocols before `RENAMED_IN`. Both names are accepted."""

    previous_names: ClassVar[Mapping[str, str]]
    """Previous names of fields by their current names."""
    default_protocol: ClassVar[int] = PROTOCOL
    """Protocol of the receiver if the context of the serialization does not contain it as `protocol`."""

    @model_validator(mode="before")
    @classmethod
    def _accept_previous_names(cls, fields: Any) -> Any:
        if not isinstance(fields, Mapping):
            return fields
        current = {previous: now for now, previous in cls.previous_names.items()}
        return {current.get(name, name): value for name, value in fields.items()}

    @model_serializer(mode="wrap")
    def _use_names_of_receiver(
        self, serialize: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        if (info.context or {}).get("protocol", self.default_protocol) >= RENAMED_IN:
            return fields
        return {self.previous_names.get(name, name): value for name, value in fields.items()}
