"""Query parameters of replies: fields of objects, and filter, order and page of lists."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from shardboard.errors import BadRequest

MAX_ITEMS = 10_000
TOTAL_HEADER = "X-Total-Count"
"""Header of lists: number of objects that match the filters, on all pages."""


@dataclass(frozen=True)
class FieldSelection:
    """Fields of an object that the reply contains; empty: all."""

    names: frozenset[str]

    def apply(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in shown.items() if not self.names or name in self.names}


@dataclass(frozen=True)
class ListQuery:
    """Filter, order, page and fields of a list. Filters compare complete values; all of them must match."""

    fields: FieldSelection
    filters: Mapping[str, Sequence[str]]
    sort: Sequence[str]
    limit: int
    offset: int

    def reply(self, items: Sequence[Mapping[str, Any]]) -> JSONResponse:
        """Return the reply with the selected objects. `items` are all objects in the format of the API."""
        found, total = self.select(items)
        return JSONResponse(found, headers={TOTAL_HEADER: str(total)})

    def select(self, items: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
        """Return the selected objects, and the number of objects on all pages."""
        found = [item for item in items if self._matches(item)]
        for name in reversed(self.sort):
            found.sort(key=lambda item: _sort_key(item.get(name.lstrip("-"))), reverse=name.startswith("-"))
        page = found[self.offset : self.offset + self.limit]
        return [self.fields.apply(item) for item in page], len(found)

    def _matches(self, item: Mapping[str, Any]) -> bool:
        return all(
            all(_has_tag(item["tags"], value) for value in values)
            if name == "tag"
            else str(item.get(name, "")) in values
            for name, values in self.filters.items()
        )


def _has_tag(tags: Sequence[Any], wanted: str) -> bool:
    """Return whether tags (texts, or objects with `key` and `value`) contain a tag: `key`, or `key:value`."""
    key, separator, value = wanted.partition(":")
    return any(
        tag == wanted if isinstance(tag, str) else tag["key"] == key and (not separator or tag["value"] == value)
        for tag in tags
    )


def _sort_key(value: Any) -> tuple[bool, bool, Any]:
    """Return the key of a value: numbers before texts, missing values last."""
    if isinstance(value, (bool, int, float)):
        return False, False, value
    return value is None, True, str(value)


def fields_of(model: type[BaseModel]) -> Callable[..., FieldSelection]:
    """Return the dependency that reads `fields` of an endpoint that returns `model`. Raises BadRequest for unknown fields."""
    known = _names(model)

    def fields(
        fields: Annotated[
            list[str] | None,
            Query(description="Comma-separated names of the fields to return. Can be repeated. Default: all fields."),
        ] = None,
    ) -> FieldSelection:
        names = frozenset(name.strip() for each in fields or () for name in each.split(",")) - {""}
        _require_known("fields", sorted(names), known)
        return FieldSelection(names)

    return fields


def list_query_of(model: type[BaseModel]) -> Callable[..., ListQuery]:
    """Return the dependency that reads the query parameters of an endpoint that returns a list of `model`.

    The filters `name`, `status` and `tag` exist if the model has these fields. Raises BadRequest for unknown fields.
    """
    known = _names(model)
    filters = [name for name in ("name", "status") if name in known] + (["tag"] if "tags" in known else [])

    def query(**given: Any) -> ListQuery:
        sort = [name.strip() for name in (given["sort"] or "").split(",") if name.strip()]
        _require_known("sort", [name.removeprefix("-") for name in sort], known)
        return ListQuery(
            fields=given["fields"],
            filters={name: given[name] for name in filters if given[name]},
            sort=sort,
            limit=given["limit"],
            offset=given["offset"],
        )

    parameters: dict[str, Any] = {"fields": Annotated[FieldSelection, Depends(fields_of(model))]}
    defaults: dict[str, Any] = {}
    for name in filters:
        text = (
            "Return only objects with this tag: `key`, or `key:value`. Can be repeated; all tags must match."
            if name == "tag"
            else f"Return only objects with this `{name}`. Can be repeated; one of the values must match."
        )
        parameters[name], defaults[name] = Annotated[list[str] | None, Query(description=text)], None
    parameters["sort"] = Annotated[
        str | None,
        Query(
            description="Comma-separated fields to sort by; `-` before a field reverses the order.", examples=["-uid"]
        ),
    ]
    parameters["limit"] = Annotated[int, Query(ge=1, le=MAX_ITEMS, description="Maximum number of objects.")]
    parameters["offset"] = Annotated[int, Query(ge=0, le=2**31 - 1, description="Number of objects to skip.")]
    defaults |= {"sort": None, "limit": MAX_ITEMS, "offset": 0}
    # FastAPI reads the parameters of a dependency from its signature.
    query.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=annotation,
                default=defaults.get(name, inspect.Parameter.empty),
            )
            for name, annotation in parameters.items()
        ]
    )
    return query


def _names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def _require_known(parameter: str, names: Sequence[str], known: frozenset[str]) -> None:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        valid = ", ".join(sorted(known))
        raise BadRequest("bad_request", f"The field {unknown[:64]} does not exist. Fields: {valid}.", field=parameter)
