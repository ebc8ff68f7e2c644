"""Parameters of actions: one frozen model per kind, parsed when a stepper loads an action and written by one function.

`Action.params` contains the fields of the model of its kind, without those that have their default value. Each model parses what
this and the previous release store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import PlainSerializer, TypeAdapter

from shardboard.domain.cluster.actions import FORMER_PARAMETERS
from shardboard.state.cluster.actions import Action

Moment = Annotated[datetime, PlainSerializer(datetime.isoformat, when_used="json")]
"""Stored in ISO 8601."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Base of all models. A model can contain a part of an action's parameters, such as those of one loop."""

    @classmethod
    def parse(cls, action: Action) -> Self:
        """Return the parameters of an action. Raises ValidationError if a required one is missing."""
        parsed: Self = _adapter(cls).validate_python(_current_keys(action.params))
        return parsed

    def stored(self) -> dict[str, Any]:
        """Return the JSON that `parse` reads."""
        stored: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json", exclude_defaults=True)
        return stored


def write(action: Action, parameters: Parameters) -> None:
    """Store the fields of this model in the action. Fields of other models stay as they are."""
    names = {each.name for each in fields(parameters)}
    keys_of_others = {key: value for key, value in _current_keys(action.params).items() if key not in names}
    action.params = {**keys_of_others, **parameters.stored()}


@dataclass(frozen=True, kw_only=True)
class Cancellable(Parameters):
    """Actions that users can cancel; see `Action.cancellable`."""

    cancellable: bool = False


@dataclass(frozen=True, kw_only=True)
class Unreachable(Parameters):
    """Part of all actions, written by the loop."""

    unreachable_since: Moment | None = None
    """Since when a machine that the action needs has not responded."""


@dataclass(frozen=True, kw_only=True)
class Retried(Parameters):
    """Part of actions that a loop schedules again after a failure."""

    situation: Any = None
    """JSON that is compared with the situation of the next attempt: if it has changed, there is no delay."""


_ADAPTERS: dict[type[Parameters], TypeAdapter[Any]] = {}
"""Adapters of models that were used, because creating them is slow."""


def _adapter(model: type[Parameters]) -> TypeAdapter[Any]:
    if model not in _ADAPTERS:
        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


def _current_keys(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored parameters with the keys of this release."""
    renamed = {FORMER_PARAMETERS[key]: value for key, value in stored.items() if key in FORMER_PARAMETERS}
    return {**renamed, **{key: value for key, value in stored.items() if key not in FORMER_PARAMETERS}}
