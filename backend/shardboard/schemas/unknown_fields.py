"""Fields of a request body without effect: fields that its model does not know, and known fields that are only accepted.

A model describes the fields that it does not declare in two class attributes:

* `KNOWN_FIELDS`: names that clients may send, for example read-only fields of the object that they received.
* `WITHOUT_EFFECT`: fields that are accepted without effect, with the value that is not worth a warning. Declared fields can be
  listed, too.
"""

import difflib
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, Field, RootModel
from pydantic.fields import FieldInfo

MAX_WARNINGS = 20
"""Maximum number of fields that are reported for one body. A suggestion takes about 1 ms."""
_MAX_NAME = 64


class NoFields(BaseModel):
    """An empty object."""


class FieldWarning(BaseModel):
    """A field of the request that has no effect."""

    field: str = Field(
        description="Path of the field, such as `tags.0.kye`; empty if more fields are affected than listed."
    )
    message: str


@dataclass
class FieldWarnings:
    """The fields of a body that have no effect, in the order of the body."""

    unknown: list[FieldWarning] = field(default_factory=list)
    without_effect: list[FieldWarning] = field(default_factory=list)

    @property
    def all(self) -> list[FieldWarning]:
        return [*self.unknown, *self.without_effect]


@dataclass(frozen=True)
class _Found:
    path: tuple[str, ...]
    model: type[BaseModel]
    is_unknown: bool

    def warning(self) -> FieldWarning:
        steps = [_printable(step) for step in self.path]
        path, name = ".".join(steps), steps[-1]
        if not self.is_unknown:
            return FieldWarning(field=path, message=f'field "{name}" is accepted without effect')
        nearest = difflib.get_close_matches(name, known_fields(self.model), n=1)
        suggestion = f'; did you mean "{nearest[0]}"?' if nearest else ""
        return FieldWarning(field=path, message=f'unknown field "{name}"{suggestion}')


def find_warnings(annotation: Any, body: Any, read_only: frozenset[str] = frozenset()) -> FieldWarnings:
    """Return the fields of a body that have no effect. `annotation` is its type, usually a model.

    `read_only` are further top-level fields that clients may send.
    """
    warnings = FieldWarnings()
    found = (each for each in _walk(annotation, body, ()) if len(each.path) > 1 or each.path[0] not in read_only)
    for each in islice(found, MAX_WARNINGS):
        (warnings.unknown if each.is_unknown else warnings.without_effect).append(each.warning())
    if (more := next(found, None)) is not None:
        rest = FieldWarning(field="", message=f"more than {MAX_WARNINGS} fields are unknown or without effect")
        (warnings.unknown if more.is_unknown else warnings.without_effect).append(rest)
    return warnings


@cache
def known_fields(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of all fields that clients may send."""
    return frozenset({*_declared(model), *getattr(model, "KNOWN_FIELDS", ()), *_without_effect(model)})


def _without_effect(model: type[BaseModel]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(model, "WITHOUT_EFFECT", {})
    return found


@cache
def _declared(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the types of the declared fields, by each name that clients can use."""
    return {name: info.annotation for field, info in model.model_fields.items() for name in _names(field, info)}


def _names(name: str, info: FieldInfo) -> list[str]:
    if isinstance(info.validation_alias, AliasChoices):
        return [choice for choice in info.validation_alias.choices if isinstance(choice, str)]
    return [info.validation_alias if isinstance(info.validation_alias, str) else name]


def _printable(name: str) -> str:
    """Return a name from a request as text that can be sent, logged and stored."""
    shown = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name[:_MAX_NAME]
    )
    return shown if len(name) <= _MAX_NAME else f"{shown}…"


def _walk(annotation: Any, value: Any, path: tuple[str, ...]) -> Iterator[_Found]:
    members = list(_members(annotation))
    is_union = sum(isinstance(member, type) and issubclass(member, BaseModel) for member in members) > 1
    for member in members:
        if isinstance(value, dict) and isinstance(member, type) and issubclass(member, BaseModel):
            if not is_union or _is_selected(member, value):
                yield from _walk_model(member, value, path)
        elif isinstance(value, dict) and get_origin(member) is dict:
            for name, item in value.items():
                yield from _walk(get_args(member)[1], item, (*path, name))
        elif isinstance(value, list) and get_origin(member) is list:
            for index, item in enumerate(value):
                yield from _walk(get_args(member)[0], item, (*path, str(index)))


def _is_selected(model: type[BaseModel], value: dict[str, Any]) -> bool:
    """Return whether a model can be the alternative that a value is meant for: its constant fields, such as `type`, are equal."""
    constants = (
        (name, get_args(each))
        for name, each in _declared(model).items()
        if get_origin(each) is Literal and name in value
    )
    return all(value[name] in allowed for name, allowed in constants if len(allowed) == 1)


def _walk_model(model: type[BaseModel], value: dict[str, Any], path: tuple[str, ...]) -> Iterator[_Found]:
    if issubclass(model, RootModel):
        yield from _walk(model.model_fields["root"].annotation, value, path)
        return
    declared, without_effect = _declared(model), _without_effect(model)
    for name, item in value.items():
        if name in without_effect:
            if item != without_effect[name]:
                yield _Found((*path, name), model, is_unknown=False)
        elif name in declared:
            yield from _walk(declared[name], item, (*path, name))
        elif name not in known_fields(model):
            yield _Found((*path, name), model, is_unknown=True)


def _members(annotation: Any) -> Iterator[Any]:
    """Yield the alternatives of a type."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    elif origin is Annotated:
        yield from _members(get_args(annotation)[0])
    else:
        yield annotation
