"""Body of error replies. Clients read `description` or `message`, so it contains both."""

from typing import Any

from pydantic import BaseModel, Field

from shardboard.schemas.optional_fields import OptionalStr


class Error(BaseModel):
    error_code: str = Field(description="Stable, machine-readable code.")
    description: str = Field(description="Message for users.")
    message: str = Field(description="Same as `description`.")
    field: OptionalStr = Field(description="The invalid field, if there is one.")


def render(code: str, description: str, field: str | None = None) -> dict[str, Any]:
    body = {"error_code": code, "description": description, "message": description}
    return {**body, "field": field} if field else body
