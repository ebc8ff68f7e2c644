"""Keys that encrypt and decrypt backups: checks of requests, and the choice of private keys."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data import manifest as manifests
from shardboard.domain.data.manifest import InvalidManifest, Manifest
from shardboard.errors import NotAcceptable
from shardboard.kit import age, age_keys
from shardboard.kit.age_keys import InvalidKey
from shardboard.state.data import backups, locations
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation


@dataclass(frozen=True)
class KeyChanges:
    """Fields of a request for a location. None: unchanged."""

    recipients: Sequence[str] | None = None
    identities: str = ""
    """Content of an age identity file; its private keys are added to those that are stored."""
    delete_identities: Sequence[str] = ()
    """Public keys whose private keys are deleted."""


def apply(row: BackupLocation, changes: KeyChanges) -> None:
    """Change the keys of a location. Raises NotAcceptable."""
    if changes.recipients is not None:
        row.recipients = check_recipients(changes.recipients)
    added = parse_identities(changes.identities)
    kept = [each for each in row.identities or () if age_keys.recipient_of(each) not in changes.delete_identities]
    stored = list(dict.fromkeys([*added, *kept]))
    if len(stored) > age_keys.MAX_KEYS:
        message = f"A location stores at most {age_keys.MAX_KEYS} private keys. Delete those that no backup needs."
        raise NotAcceptable("invalid_backup_key", message, field="identities")
    if stored != (row.identities or []):
        row.identities = stored or None


def check_recipients(recipients: Sequence[str]) -> list[str]:
    """Return public keys without duplicates. Raises NotAcceptable."""
    for number, each in enumerate(recipients, 1):
        try:
            age_keys.parse_recipient(each)
        except InvalidKey as error:
            raise NotAcceptable("invalid_backup_key", f"Public key {number} {error}", field="recipients") from None
    return list(dict.fromkeys(recipients))


def parse_identities(text: str) -> list[str]:
    """Return the private keys in a text. Raises NotAcceptable."""
    try:
        return age_keys.identities_in(text)
    except InvalidKey as error:
        raise NotAcceptable("invalid_backup_key", f"The text {error}", field="identities") from None


async def identities_for(session: AsyncSession, backup: Backup, sent: str = "") -> list[str]:
    """Return the private keys that decrypt a backup, of a request and of all locations; none if it is not encrypted.

    Raises NotAcceptable if there is none.
    """
    if not backup.recipients:
        return []
    keys = parse_identities(sent)
    if keys and not (found := age_keys.matching(keys, backup.recipients)):
        message = f"The private key does not belong to backup {backup.uid}. Send the private key of {_list(backup.recipients)}."
        raise NotAcceptable("wrong_backup_key", message, field="identities")
    if not keys and not (found := age_keys.matching(await locations.all_identities(session), backup.recipients)):
        message = (
            f"Backup {backup.uid} is encrypted, and its private key is not stored. Send the private key of "
            f"{_list(backup.recipients)}, or add it to a location."
        )
        raise NotAcceptable("missing_backup_key", message, field="identities")
    return found


async def identities_for_replay(
    session: AsyncSession, backup: Backup, recipients: Sequence[str], sent: str = ""
) -> list[str]:
    """Return the private keys that decrypt a backup and recorded changes, which are encrypted for `recipients`.

    Raises NotAcceptable if there is none.
    """
    found = await identities_for(session, backup, sent)
    if not recipients or set(recipients) == set(backup.recipients):
        return found
    known = [*parse_identities(sent), *await locations.all_identities(session)]
    if not (matching := age_keys.matching(known, recipients)):
        message = (
            f"The recorded changes are encrypted, and their private key is not stored. Send the private key of {_list(recipients)} "
            "too, or add it to a location."
        )
        raise NotAcceptable("missing_backup_key", message, field="identities")
    return list(dict.fromkeys([*found, *matching]))


async def readable_manifest(session: AsyncSession, backup: Backup, identities: Sequence[str]) -> Manifest | None:
    """Return the manifest of a backup, and decrypt and store its protected part if this has not been done; None without manifest.

    Raises NotAcceptable if it is damaged.
    """
    stored = await backups.manifest(session, backup.uid)
    if stored is None:
        return None
    try:
        manifest = unsealed(manifests.parse(stored), identities)
    except (InvalidManifest, age.AgeError) as error:
        reason = f"Its protected part {error}" if isinstance(error, age.AgeError) else str(error)
        message = f"The manifest of backup {backup.uid} cannot be used. {reason}"
        raise NotAcceptable("backup_not_usable", message, field="backup_uid") from None
    if stored.get(manifests.SEALED) and not manifest.sealed:
        await backups.save_manifest(session, backup.uid, manifest.as_json())
        backup.bdb = dict(manifest.bdb)
    return manifest


def unsealed(manifest: Manifest, identities: Iterable[str]) -> Manifest:
    """Return a manifest with its protected part, if one of the private keys belongs to it. Raises AgeError or InvalidManifest."""
    keys = age_keys.matching(list(identities), manifest.recipients) if manifest.sealed else []
    if not keys:
        return manifest
    try:
        content: Any = json.loads(age.decrypt_text(manifest.sealed, keys))
    except (ValueError, RecursionError) as error:
        if isinstance(error, age.AgeError):
            raise
        raise InvalidManifest("The protected part of the manifest is not valid JSON.") from None
    return manifests.with_private_part(manifest, content)


def _list(recipients: Sequence[str]) -> str:
    return " or ".join(recipients)
