"""The error body. Clients look for `description` or `message`, so it carries both."""

from typing import Any

from pydantic import BaseModel, Field

from shardboard.schemas.absent import OptionalStr


class Error(BaseModel):
    error_code: str = Field(description="Stable and machine readable.")
    description: str = Field(description="A sentence for a person.")
    message: str = Field(description="The same sentence.")
    field: OptionalStr = Field(description="The field at fault, if it is one.")


def render(code: str, description: str, field: str | None = None) -> dict[str, Any]:
    body = {"error_code": code, "description": description, "message": description}
    return {**body, "field": field} if field else body
