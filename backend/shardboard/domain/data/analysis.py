"""Merges the analyses of the files of a backup: keys and bytes by type, prefix and expiry time, and the largest keys."""

from collections.abc import Mapping, Sequence
from typing import Any

MAX_PREFIXES = 100
MAX_LARGEST = 20


def merge_analyses(analyses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one analysis. Parts with an unexpected type are left out."""
    analyses = [each for each in analyses if each]
    if not analyses:
        return {}
    prefixes: dict[str, dict[str, int]] = {}
    other: dict[str, int] = {}
    for each in analyses:
        for entry in _entries(each.get("prefixes")):
            _add(prefixes.setdefault(str(entry.get("prefix")), {}), entry)
        _add(other, each.get("other_prefixes"))
    by_size = sorted(prefixes.items(), key=lambda item: (-item[1]["bytes"], item[0]))
    for _, total in by_size[MAX_PREFIXES:]:
        _add(other, total)
    largest = [_large_key(entry) for each in analyses for entry in _entries(each.get("largest"))]
    return {
        "types": _by_name(analyses, "types"),
        "prefixes": [{"prefix": prefix, **total} for prefix, total in by_size[:MAX_PREFIXES]],
        "other_prefixes": other,
        "lifetimes": _by_name(analyses, "lifetimes"),
        "largest": sorted(largest, key=lambda entry: -entry["bytes"])[:MAX_LARGEST],
    }


def _by_name(analyses: Sequence[Mapping[str, Any]], part: str) -> dict[str, dict[str, int]]:
    totals: dict[str, dict[str, int]] = {}
    for each in analyses:
        named = each.get(part)
        for name, total in named.items() if isinstance(named, Mapping) else ():
            _add(totals.setdefault(str(name), {}), total)
    return totals


def _entries(entries: Any) -> list[Mapping[str, Any]]:
    return [each for each in entries if isinstance(each, Mapping)] if isinstance(entries, list) else []


def _large_key(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": str(entry.get("key", "")),
        "type": str(entry.get("type", "")),
        "bytes": _number(entry.get("bytes")),
        "elements": _number(entry.get("elements")),
    }


def _add(total: dict[str, int], other: Any) -> None:
    for name in ("keys", "bytes"):
        total[name] = total.get(name, 0) + (_number(other.get(name)) if isinstance(other, Mapping) else 0)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
