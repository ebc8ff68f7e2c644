"""The report about files before an import: what they contain, what the database cannot load, and whether the keys fit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from shardboard.domain.data.statuses import Forecast
from shardboard.domain.text import plural

FIELD_EXPIRY_VERSION = (9, 0)
"""First release of the engine with expiry times of hash fields."""
TOO_LARGE = "file-larger-than-mem-limit"
"""Code of the Redis Enterprise REST API."""


@dataclass(frozen=True)
class ImportTarget:
    """The database that receives the keys."""

    name: str
    memory_limit: int
    """Bytes that one copy of the data can use; 0 = no limit."""
    is_evicting: bool
    """See `is_evicting`."""
    engine_version: str = ""
    """The oldest version of its shards; empty if it is unknown."""


@dataclass(frozen=True)
class InspectedFile:
    """One file, and either its contents, the fields of `contract.transfers.InspectResult`, or why it cannot be read."""

    path: str
    contents: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    error_code: str = ""


@dataclass(frozen=True)
class Finding:
    """A reason for losses, or why an import is not possible."""

    code: str
    message: str
    keys: int = 0


def is_evicting(eviction_policy: str) -> bool:
    """Return whether a database with this policy never rejects writes because its memory is full.

    With policies for keys with an expiry time, it rejects writes as soon as none of them is left.
    """
    return eviction_policy.startswith("allkeys-")


def build(files: Sequence[InspectedFile], target: ImportTarget, *, may_exceed_memory: bool = False) -> dict[str, Any]:
    """Return the report. With `may_exceed_memory`, the size is a loss instead of a problem if the database evicts keys."""
    parts = [_file(each, target) for each in files]
    losses = _merged([loss for part in parts for loss in part["losses"]])
    needed = sum(part["needed_bytes"] for part in parts)
    problems = [
        Finding(each.error_code or "general-error", f"{each.path} cannot be read. {each.error}")
        for each in files
        if each.error
    ]
    if too_large := memory_problem(needed, target, "The files need about", may_exceed_memory=may_exceed_memory):
        problems.append(Finding(TOO_LARGE, too_large))
    elif target.memory_limit and needed > target.memory_limit:
        losses.append(Finding("evicted_keys", "The keys exceed the memory limit, so some are evicted."))
    forecast = Forecast.IMPOSSIBLE if problems else Forecast.LOSSES if losses else Forecast.POSSIBLE
    return {
        "forecast": forecast,
        "keys": sum(part["keys"] for part in parts),
        "expired": sum(part["expired"] for part in parts),
        "lost_keys": sum(each.keys for each in losses),
        "needed_bytes": needed,
        "memory_limit": target.memory_limit,
        "losses": [asdict(each) for each in losses],
        "problems": [asdict(each) for each in problems],
        "files": [{**part, "losses": [asdict(each) for each in part["losses"]]} for part in parts],
    }


def memory_problem(needed: int, target: ImportTarget, subject: str, *, may_exceed_memory: bool) -> str:
    """Return why data of this size is not restored; empty if it is."""
    if not target.memory_limit or needed <= target.memory_limit or (may_exceed_memory and target.is_evicting):
        return ""
    choice = (
        "Increase memory_size, or send force to let the database evict keys."
        if target.is_evicting
        else "Increase memory_size, or use a larger database."
    )
    return (
        f"{subject} {needed:,} bytes of memory, but the memory limit of {target.name} allows {target.memory_limit:,} bytes of "
        f"data. {choice}"
    )


def _file(file: InspectedFile, target: ImportTarget) -> dict[str, Any]:
    contents = file.contents
    losses = _losses(contents, target) if contents else []
    forecast = Forecast.IMPOSSIBLE if file.error else Forecast.LOSSES if losses else Forecast.POSSIBLE
    databases = contents.get("databases", {})
    return {
        "path": file.path,
        "forecast": forecast,
        "error": file.error,
        "error_code": file.error_code,
        "format": _format(contents),
        "bytes": contents.get("bytes", 0),
        "raw_bytes": contents.get("raw_bytes", 0),
        "needed_bytes": contents.get("memory_bytes", 0),
        "keys": contents.get("keys", 0),
        "types": contents.get("types", {}),
        "expires": contents.get("expires", 0),
        "expired": contents.get("expired", 0),
        "databases": {str(number): keys for number, keys in databases.items()},
        "functions": contents.get("functions", []),
        "slots": len(contents.get("slots", [])),
        "losses": losses,
    }


def _format(contents: dict[str, Any]) -> str:
    """Return format and origin: "Redis RDB 12 (7.4.1)"."""
    if not contents:
        return ""
    family = {"redis": "Redis", "valkey": "Valkey"}.get(contents.get("family", ""), "")
    version = contents.get("engine_version", "")
    return f"{family} RDB {contents['rdb_version']}".strip() + (f" ({version})" if version else "")


def _losses(contents: dict[str, Any], target: ImportTarget) -> list[Finding]:
    losses = [
        Finding("module_values", f"Values of the module type {name} cannot be imported.", keys)
        for name, keys in sorted(contents.get("modules", {}).items())
    ]
    if (keys := contents.get("field_expiry", 0)) and not _has_field_expiry(target.engine_version):
        message = (
            f"Hashes with expiry times of fields need Valkey 9, but {target.name} runs Valkey {target.engine_version}."
        )
        losses.append(Finding("field_expiry", message, keys))
    other = {number: keys for number, keys in contents.get("databases", {}).items() if str(number) != "0"}
    if other:
        names = ", ".join(sorted(other, key=int))
        message = f"Databases of Shardboard have one logical database: keys of {names} are skipped."
        losses.append(Finding("other_databases", message, sum(other.values())))
    if keys := contents.get("importing", 0):
        message = "The file was written while slots were imported. Their keys are incomplete and are skipped."
        losses.append(Finding("importing_slots", message, keys))
    if keys := contents.get("too_large", 0):
        losses.append(Finding("too_large", f"{plural(keys, 'value')} cannot be divided and exceed 512 MB.", keys))
    return losses


def _has_field_expiry(engine_version: str) -> bool:
    numbers = [int(part) for part in engine_version.split(".")[:2] if part.isdecimal()]
    return len(numbers) < 2 or tuple(numbers) >= FIELD_EXPIRY_VERSION


def _merged(losses: Sequence[Finding]) -> list[Finding]:
    """Add the keys of equal losses."""
    keys: dict[tuple[str, str], int] = {}
    for each in losses:
        keys[each.code, each.message] = keys.get((each.code, each.message), 0) + each.keys
    return [Finding(code, message, count) for (code, message), count in keys.items()]
