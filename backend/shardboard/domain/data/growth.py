"""Growth of a database between two backups, from their analyses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOTHING: Mapping[str, int] = {"keys": 0, "bytes": 0}


@dataclass(frozen=True)
class Growth:
    """Keys and bytes of a type or a prefix in two backups."""

    name: str
    keys: int
    bytes: int
    previous_keys: int | None
    """None: unknown, because the analysis lists the largest prefixes only."""
    previous_bytes: int | None

    @property
    def change(self) -> int:
        """Bytes that were added; negative if it shrank."""
        return self.bytes - self.previous_bytes if self.previous_bytes is not None else 0


def growth_of_types(current: Mapping[str, Any], previous: Mapping[str, Any]) -> list[Growth]:
    """Return the types of both backups, those with the largest change first."""
    return _compare(current.get("types", {}), previous.get("types", {}), before=NOTHING, after=NOTHING)


def growth_of_prefixes(current: Mapping[str, Any], previous: Mapping[str, Any]) -> list[Growth]:
    """Return the listed prefixes, and those that disappeared, with the largest change first."""
    return _compare(_prefixes(current), _prefixes(previous), before=_unlisted(previous), after=_unlisted(current))


def _prefixes(analysis: Mapping[str, Any]) -> dict[str, Mapping[str, int]]:
    return {each["prefix"]: each for each in analysis.get("prefixes", ())}


def _unlisted(analysis: Mapping[str, Any]) -> Mapping[str, int] | None:
    """Return the total of a prefix that an analysis does not list; None if it is unknown."""
    return None if analysis.get("other_prefixes", {}).get("keys") else NOTHING


def _compare(
    current: Mapping[str, Mapping[str, int]],
    previous: Mapping[str, Mapping[str, int]],
    *,
    before: Mapping[str, int] | None,
    after: Mapping[str, int] | None,
) -> list[Growth]:
    rows = []
    for name in {**current, **previous}:
        now, then = current.get(name, after), previous.get(name, before)
        if now is not None:
            known = (then["keys"], then["bytes"]) if then is not None else (None, None)
            rows.append(Growth(name, now["keys"], now["bytes"], *known))
    return sorted(rows, key=lambda row: (-abs(row.change), row.name))
