"""Members of a reply that are left out, never null, when there is nothing to say."""

from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema


def without_default(schema: dict[str, Any]) -> None:
    """Keep `default: null` out of OpenAPI."""
    schema.pop("default", None)


OptionalStr = Annotated[str | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
OptionalInt = Annotated[int | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]


def present(**values: Any) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
