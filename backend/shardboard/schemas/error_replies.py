"""Body of error replies. Clients read `description` or `message`, so it contains both."""

from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.schemas.optional_fields import OptionalStr, without_default
from shardboard.schemas.unknown_fields import FieldWarning


class Error(BaseModel):
    error_code: str = Field(description="Stable, machine-readable code.")
    description: str = Field(description="Message for users.")
    message: str = Field(description="Same as `description`.")
    field: OptionalStr = Field(description="The invalid field, if there is one.")
    warnings: Annotated[
        list[FieldWarning] | SkipJsonSchema[None],
        Field(
            default=None,
            json_schema_extra=without_default,
            description="Fields of the request that are unknown or have no effect. Also in responses that report success.",
        ),
    ]


def render(code: str, description: str, field: str | None = None) -> dict[str, Any]:
    body = {"error_code": code, "description": description, "message": description}
    return {**body, "field": field} if field else body
