"""The console CA for `shardboard recover-console`: from files, a backup of the console, or the copies that agents keep."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from shardboard.cli.console_backup import read_backup
from shardboard.cli.secret_files import read_secret
from shardboard.contract.recovery_copies import CLUSTER, CopyVersion
from shardboard.errors import CommandError
from shardboard.kit.bus import Bus
from shardboard.pki.certificate_state import CertificateState
from shardboard.pki.recovery_seal import CA_COLUMN, Envelope, SealError
from shardboard.pki.recovery_shares import SharesError, ca_of
from shardboard.pki.signer import CertificateAuthority
from shardboard.settings import Settings
from shardboard.state.cluster import console_certificates
from shardboard.store.console_archive import Unpacked
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeyError, StoreKeys, is_key_file_missing, store_keys


@dataclass(frozen=True)
class CaSource:
    """One of `ca` (with `ca_key`), `backup` and `copies` is set. The copies are those of the cluster, of different nodes."""

    ca: Path | None = None
    ca_key: Path | None = None
    backup: Path | None = None
    passphrase_file: Path | None = None
    identity_file: Path | None = None
    copies: Sequence[Path] = ()

    def read(self, settings: Settings, directory: Path) -> CertificateState:
        """Return certificates with which agents can be called. `directory` is an empty directory for temporary files. Raises
        CommandError, and what reading a backup raises.
        """
        if self.backup is not None:
            unpacked = read_backup(self.backup, directory, settings, self.passphrase_file, self.identity_file)
            return asyncio.run(_in_backup(unpacked, settings)).renewed()
        return CertificateState(self._from_files() if self.ca is not None else self._from_copies(settings)).renewed()

    def _from_files(self) -> CertificateAuthority:
        if self.ca is None or self.ca_key is None:
            raise CommandError("--ca needs --ca-key, the file with its private key")
        certificates, key = read_secret(self.ca, "certificate"), read_secret(self.ca_key, "key")
        return _parse(certificates, key, f"{self.ca} and {self.ca_key}")

    def _from_copies(self, settings: Settings) -> CertificateAuthority:
        if not self.copies:
            raise CommandError("the console CA is required. Use --copy, --backup, or --ca and --ca-key")
        envelopes = [_envelope(file) for file in self.copies]
        try:
            text = _decrypt(envelopes[0], settings)
        except StoreKeyError as key_error:
            try:
                return ca_of(envelopes)
            except SharesError as error:
                raise CommandError(
                    f"{self.copies[0]} cannot be read. {key_error} Provide the store key of the lost console, or use --copy for "
                    f"more than half of the nodes. The given copies {error}"
                ) from error
        return _parse(text, text, str(self.copies[0]))


def _decrypt(envelope: Envelope, settings: Settings) -> str:
    """Return the console CA in a copy. Raises StoreKeyError."""
    if is_key_file_missing(settings):
        raise StoreKeyError(f"{settings.key_file} does not exist, and no other store key is configured.")
    if not envelope.ca_for_store_key:
        raise StoreKeyError("It does not contain the console CA for the store key.")
    return store_keys(settings).decrypt(envelope.ca_for_store_key, CA_COLUMN)


def _envelope(file: Path) -> Envelope:
    """Return the content of a copy of the cluster."""
    head, _, content = read_secret(file, "copy").partition("\n")
    try:
        version, envelope = CopyVersion.model_validate_json(head), Envelope.parse(content)
    except (ValidationError, SealError) as error:
        raise CommandError(f"{file} is not a copy of an agent, or is damaged") from error
    if version.name != CLUSTER:
        raise CommandError(f"{file} is a copy of a database. Use the file `cluster` in the same directory")
    return envelope


def _parse(certificates: str, key: str, source: str) -> CertificateAuthority:
    try:
        return CertificateAuthority.read(certificates.encode(), key.encode())
    except (ValueError, TypeError, IndexError) as error:
        raise CommandError(
            f"{source} do not contain the console CA and its unencrypted private key: {error}"
        ) from error


async def _in_backup(unpacked: Unpacked, settings: Settings) -> CertificateState:
    """Raises ValueError, also without the key of the backup."""
    lines = unpacked.store_key.split() if unpacked.store_key is not None else []
    if not lines and is_key_file_missing(settings):
        raise StoreKeyError("The backup does not contain the store key. Provide it as for the console.")
    keys = StoreKeys(lines) if lines else store_keys(settings)
    store = Store(f"sqlite+aiosqlite:///{unpacked.store}", Bus(), keys)
    try:
        await store.check_release()
        await store.migrate()
        async with store.read() as session:
            state = await console_certificates.find(session)
    finally:
        await store.close()
    if state is None:
        raise ValueError("The backup contains no console CA.")
    return state
