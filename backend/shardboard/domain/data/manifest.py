"""Manifests of backups, format 1: they list the files of a backup and what they contain.

The file of an encrypted backup contains what the keys of the database reveal (`PRIVATE_FIELDS`) in encrypted form, as `private`.

A manifest that was read from a location can have been changed by anyone who may write there, so `parse` checks every value that is
used.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardboard.domain.data import folder_names
from shardboard.domain.data.analysis import merge_analyses
from shardboard.domain.placement import slots

FORMAT = 1
MAX_FILES = 1_024
MAX_COUNT = 2**53
MAX_SEALED = 2**24
PRIVATE_FIELDS = ("bdb", "slots", "types", "functions", "analysis")
SEALED = "private"
MAX_RECIPIENTS = 16
_RECIPIENT = re.compile(r"age1[0-9a-z]{20,120}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DIGEST = re.compile(r"[0-9a-f]{1,16}")


class InvalidManifest(ValueError):
    """The text is a message for users."""


@dataclass(frozen=True)
class ManifestFile:
    """One file: the snapshot of one replication pair."""

    name: str
    """Without folder."""
    slots: str
    """In the format of `slots.render`."""
    bytes: int
    raw_bytes: int
    sha256: str
    keys: int
    expires: int = 0
    rdb_version: int = 0
    node_uid: int = 0
    role: str = ""
    started: str = ""
    ended: str = ""
    replication_id: str = ""
    replication_offset: int = 0


@dataclass(frozen=True)
class Manifest:
    """Contents of `manifest.json`."""

    backup_uid: int
    bdb: Mapping[str, Any]
    """Fields of the database without secrets."""
    engine_version: str
    started: str
    ended: str
    """ISO 8601."""
    files: Sequence[ManifestFile]
    slots: Sequence[tuple[int, int, str]] = ()
    """Slot, number of keys and digest of each slot that has keys, ascending."""
    types: Mapping[str, int] = field(default_factory=dict)
    functions: Sequence[str] = ()
    analysis: Mapping[str, Any] = field(default_factory=dict)
    recipients: Sequence[str] = ()
    """Public keys for which the files are encrypted."""
    sealed: str = ""
    """The encrypted fields, until they are decrypted."""

    @property
    def keys(self) -> int:
        return sum(each.keys for each in self.files)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)

    @property
    def raw_bytes(self) -> int:
        return sum(each.raw_bytes for each in self.files)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object that `parse` reads."""
        content = {
            "format": FORMAT,
            "backup_uid": self.backup_uid,
            "bdb": dict(self.bdb),
            "engine": self.engine_version,
            "started": self.started,
            "ended": self.ended,
            "files": [
                {
                    **vars(each),
                    "slots": [list(each_range) for each_range in slots.parse(each.slots)],
                }
                for each in self.files
            ],
            "keys": self.keys,
            "bytes": self.bytes,
            "raw_bytes": self.raw_bytes,
            "types": dict(self.types),
            "functions": list(self.functions),
            "slots": [list(each) for each in self.slots],
            "analysis": dict(self.analysis),
        }
        encryption = {"recipients": list(self.recipients)} if self.recipients else {}
        return {**content, **encryption, **({SEALED: self.sealed} if self.sealed else {})}

    def private_part(self) -> dict[str, Any]:
        """Return the fields that are encrypted in the file."""
        content = self.as_json()
        return {name: content[name] for name in PRIVATE_FIELDS}

    def public_part(self, sealed: str) -> dict[str, Any]:
        """Return the contents of the file of an encrypted backup, with its encrypted fields."""
        content = {name: value for name, value in self.as_json().items() if name not in PRIVATE_FIELDS}
        return {**content, "bdb": {"name": str(self.bdb.get("name", ""))}, SEALED: sealed}


def parse(content: Any) -> Manifest:
    """Parse a manifest. Raises InvalidManifest."""
    manifest = _object(content, "the manifest")
    if manifest.get("format") != FORMAT:
        raise InvalidManifest(
            f"The manifest has the format {str(manifest.get('format'))[:20]}; this release reads format {FORMAT}."
        )
    files = [_file(each) for each in _list(manifest, "files", MAX_FILES)]
    if len({each.name for each in files}) < len(files):
        raise InvalidManifest("The manifest lists a file twice.")
    return Manifest(
        backup_uid=_count(manifest, "backup_uid"),
        bdb=_object(manifest.get("bdb"), "bdb"),
        engine_version=_text(manifest, "engine", 64),
        started=_text(manifest, "started", 64),
        ended=_text(manifest, "ended", 64),
        files=files,
        slots=_slots(manifest),
        types={
            str(name): _number(count, "types") for name, count in _object(manifest.get("types", {}), "types").items()
        },
        functions=[str(each) for each in _list(manifest, "functions", 10_000)],
        analysis=merge_analyses([_object(manifest.get("analysis", {}), "analysis")]),
        recipients=_recipients(manifest),
        sealed=_sealed(manifest),
    )


def with_private_part(manifest: Manifest, content: Any) -> Manifest:
    """Return the manifest with its decrypted fields. Raises InvalidManifest."""
    private = _object(content, "its protected part")
    public = {name: value for name, value in manifest.as_json().items() if name not in (*PRIVATE_FIELDS, SEALED)}
    return parse({**{name: private[name] for name in PRIVATE_FIELDS if name in private}, **public})


def _recipients(manifest: Mapping[str, Any]) -> list[str]:
    recipients = _list(manifest, "recipients", MAX_RECIPIENTS)
    if not all(isinstance(each, str) and _RECIPIENT.fullmatch(each) for each in recipients):
        raise InvalidManifest("The public keys in the manifest are invalid.")
    return recipients


def _sealed(manifest: Mapping[str, Any]) -> str:
    return _text(manifest, SEALED, MAX_SEALED) if SEALED in manifest else ""


def _file(content: Any) -> ManifestFile:
    entry = _object(content, "a file")
    name, sha256 = _text(entry, "name", 255), _text(entry, "sha256", 64)
    if not folder_names.is_safe_name(name):
        raise InvalidManifest("The manifest contains an invalid file name.")
    if not _SHA256.fullmatch(sha256):
        raise InvalidManifest(f"The checksum of {name} in the manifest is invalid.")
    return ManifestFile(
        name=name,
        slots=slots.render(_ranges(entry, name)),
        bytes=_count(entry, "bytes"),
        raw_bytes=_count(entry, "raw_bytes"),
        sha256=sha256,
        keys=_count(entry, "keys"),
        expires=_number(entry.get("expires", 0), "expires"),
        rdb_version=_number(entry.get("rdb_version", 0), "rdb_version"),
        node_uid=_number(entry.get("node_uid", 0), "node_uid"),
        role=str(entry.get("role", ""))[:32],
        started=str(entry.get("started", ""))[:64],
        ended=str(entry.get("ended", ""))[:64],
        replication_id=str(entry.get("replication_id", ""))[:64],
        replication_offset=_number(entry.get("replication_offset", 0), "replication_offset"),
    )


def _ranges(entry: Mapping[str, Any], name: str) -> slots.Ranges:
    ranges: list[tuple[int, int]] = []
    for each in _list(entry, "slots", slots.SLOTS):
        match each:
            case [int(first), int(last)] if 0 <= first <= last < slots.SLOTS:
                ranges.append((first, last))
            case _:
                raise InvalidManifest(f"The slots of {name} in the manifest are invalid.")
    return slots.joined(tuple(ranges))


def _slots(manifest: Mapping[str, Any]) -> list[tuple[int, int, str]]:
    found: dict[int, tuple[int, int, str]] = {}
    for each in _list(manifest, "slots", slots.SLOTS):
        match each:
            case [int(slot), int(keys), str(digest)] if (
                0 <= slot < slots.SLOTS and 0 <= keys <= MAX_COUNT and _DIGEST.fullmatch(digest)
            ):
                found[slot] = (slot, keys, digest)
            case _:
                raise InvalidManifest("The contents of slots in the manifest are invalid.")
    return [found[slot] for slot in sorted(found)]


def _object(content: Any, what: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InvalidManifest(f"The manifest is invalid: {what} must be an object.")
    return content


def _list(content: Mapping[str, Any], name: str, most: int) -> list[Any]:
    entries = content.get(name, [])
    if not isinstance(entries, list) or len(entries) > most:
        raise InvalidManifest(f"The manifest is invalid: {name} must be a list of at most {most} entries.")
    return entries


def _text(content: Mapping[str, Any], name: str, most: int) -> str:
    text = content.get(name)
    if not isinstance(text, str) or len(text) > most:
        raise InvalidManifest(f"The manifest is invalid: {name} must be a string of at most {most} characters.")
    return text


def _count(content: Mapping[str, Any], name: str) -> int:
    return _number(content.get(name), name)


def _number(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise InvalidManifest(f"The manifest is invalid: {name} must be a number from 0 to {MAX_COUNT}.")
    return value
