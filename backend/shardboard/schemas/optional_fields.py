"""Members of a reply that are omitted, never null, if they have no value."""

from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema


def without_default(schema: dict[str, Any]) -> None:
    """Remove `default: null` from the OpenAPI schema."""
    schema.pop("default", None)


OptionalStr = Annotated[str | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
OptionalInt = Annotated[int | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]


def without_none(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
