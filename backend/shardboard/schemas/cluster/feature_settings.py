"""Bodies of requests that change a settings object of the reference."""

from typing import Any, Self

from pydantic import ConfigDict, RootModel, model_validator
from pydantic_core import PydanticCustomError

from shardboard.schemas import json_limits


class SettingsChange(RootModel[dict[str, Any]]):
    """Settings to change. Settings without an effect are refused by name unless they have their current value."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="after")
    def _check_plain(self) -> Self:
        try:
            json_limits.check_json_value(self.root)
        except ValueError as error:
            raise PydanticCustomError("field", "{field} {what}", {"field": "body", "what": str(error)}) from None
        return self
