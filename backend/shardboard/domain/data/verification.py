"""Result of a test restore of a backup: whether all its keys can be restored."""

from collections.abc import Mapping
from dataclasses import dataclass

from shardboard.domain.text import plural


@dataclass(frozen=True)
class RestoredData:
    """Result of a restore into an empty database."""

    restored: int
    expired: int
    """Keys whose time to live had ended."""
    unsupported: Mapping[str, int]
    """Keys that the engine could not load, by reason."""
    mismatched_slots: int | None
    """Slots whose keys or digest differ from the manifest; None if they were not compared."""
    stored: int
    """Keys in the database afterwards."""


@dataclass(frozen=True)
class Verdict:
    ok: bool
    detail: str
    """A sentence."""
    seconds: float
    """Duration of the restore."""
    keys: int
    """Restored keys."""


def judge(data: RestoredData, *, keys: int, expires: int, seconds: float) -> Verdict:
    """Compare a restore with the backup, which has `keys` keys, `expires` of which have a time to live."""
    failure = _failure(data, keys, expires)
    detail = failure or f"{plural(data.restored, 'key')} matched the manifest."
    return Verdict(not failure, detail, round(seconds, 1), data.restored)


def _failure(data: RestoredData, keys: int, expires: int) -> str:
    """Return the first difference, or an empty string."""
    if data.unsupported:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in sorted(data.unsupported.items()))
        return f"Some keys could not be loaded: {reasons}."
    if data.mismatched_slots is None:
        return "The restored keys were not compared with the manifest."
    if data.mismatched_slots:
        return f"The keys of {plural(data.mismatched_slots, 'slot')} differ from the manifest."
    if data.restored + data.expired != keys:
        return (
            f"The backup has {plural(keys, 'key')}; {data.restored:,} were restored and {data.expired:,} had expired."
        )
    if not data.restored - expires <= data.stored <= data.restored:
        return f"{plural(data.restored, 'key')} were restored, but the database contained {data.stored:,} afterwards."
    return ""
