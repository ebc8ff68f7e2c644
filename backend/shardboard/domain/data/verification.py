"""Result of a verification of a backup: whether all its keys can be restored, or whether its files are those that were written."""

from collections.abc import Mapping
from dataclasses import dataclass

from shardboard.domain.text import plural

RESTORED, CHECKSUMS = "restore", "checksums"
"""How backups are verified: all keys are restored and compared, or only files are compared with their checksums."""


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
    """Duration of the restore, or of the comparison."""
    keys: int
    """Restored keys."""
    method: str = RESTORED


def judge_checksums(files: int, *, has_manifest: bool, seconds: float) -> Verdict:
    """Return the result of a check in which no file has changed. `has_manifest`: whether this includes the manifest."""
    compared = f"{plural(files, 'encrypted file')}{' and the manifest' if has_manifest else ''}"
    unknown = "" if has_manifest else " The manifest exists, but its checksum is unknown."
    detail = (
        f"{compared} have the checksums with which they were written.{unknown} The keys were not decrypted and not restored, "
        "because the console has no private key."
    )
    return Verdict(ok=True, detail=detail, seconds=round(seconds, 1), keys=0, method=CHECKSUMS)


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
