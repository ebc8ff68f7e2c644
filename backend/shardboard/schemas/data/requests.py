"""Base class of requests about backups, restores and their locations."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from shardboard.schemas import json_limits
from shardboard.schemas.optional_fields import without_default

OptionalUid = Annotated[
    Annotated[int, Field(ge=1, le=2**31 - 1)] | SkipJsonSchema[None],
    Field(default=None, json_schema_extra=without_default),
]


class DataRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def check_json(cls, body: Any) -> Any:
        json_limits.check_json_value(body)
        return body
