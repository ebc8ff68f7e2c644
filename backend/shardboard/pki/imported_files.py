"""Import of the certificates that earlier releases kept in `<state_dir>/tls`.

    ca.key            the current CA: key, certificate and certificates of its issuers
    ca.pem            these certificates, in still earlier releases without those in ca.key
    requested-ca.pem  key and request of an intermediate CA that is not signed yet
    next-ca.pem       like ca.key, for the next CA
    former-ca.pem     like ca.key, for the old CA, while a certificate of it is in use
    installed.pem     the certificate for browsers, with its key
    imported          digests of the files that were read back from the store

The files are kept until the console starts again. A file is deleted only if `imported` contains its digest, so a file that is not
in the store is never lost.
"""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from shardboard.pki.certificate_state import CaRequest, CertificateState
from shardboard.pki.key_files import sync_directory, write_private
from shardboard.pki.signer import CertificateAuthority

log = logging.getLogger(__name__)

_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_NAMES = ("requested-ca.pem", "next-ca.pem", "former-ca.pem", "installed.pem", "client.pem", "client.key", "ca.key")
"""Files that are deleted after the import, the one that `read` requires last."""


class ImportedFiles:
    """The files of an earlier release."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._marker = directory / "imported"

    def read(self) -> CertificateState | None:
        """Return the certificates in the files; None if there is no CA. Raises OSError, and ValueError if a required file is not
        usable. The certificate for agents is not read, because consoles create another one.
        """
        file = self._directory / "ca.key"
        if not file.exists():
            return None
        current = self._current(file)
        former, next_ca = self._ca("former-ca.pem"), None
        try:
            next_ca = self._ca("next-ca.pem")
        except ValueError as error:  # no certificate of it has been served
            log.error("CA: the announced CA is not usable and is ignored: %s", error)
        if former is not None and former.fingerprint == current.fingerprint:
            former = None  # the switch was interrupted
        answered = [each for each in (current, next_ca) if each is not None]
        installed = self._directory / "installed.pem"
        return CertificateState(
            current,
            next_ca,
            former,
            self._requested(answered),
            installed=installed.read_text() if installed.exists() else None,
        )

    def _current(self, file: Path) -> CertificateAuthority:
        copy, content = self._directory / "ca.pem", file.read_bytes()
        is_earlier = _CERTIFICATE not in content
        try:
            signer = CertificateAuthority.read(copy.read_bytes() if is_earlier else content, content)
        except (ValueError, TypeError) as error:
            reason = f"is not the key of {copy}" if is_earlier else f"is not usable: {error}"
            raise ValueError(f"{file} {reason}") from error
        former = self._directory / "former-ca.pem"
        if (
            copy.exists()
            and (copied := copy.read_bytes()) != signer.chain_pem.encode()
            and not (former.exists() and former.read_bytes().startswith(copied))
            and not is_earlier
        ):
            # An administrator replaced one of the files. With another CA, agents that trust the previous one would reject the
            # console, so an administrator must resolve this.
            raise ValueError(f"{file} is not the key of {copy}")
        return signer

    def _ca(self, name: str) -> CertificateAuthority | None:
        file = self._directory / name
        if not file.exists():
            return None
        content = file.read_bytes()
        try:
            return CertificateAuthority.read(content, content)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{file} is not usable: {error}") from error

    def _requested(self, answered: Iterable[CertificateAuthority]) -> CaRequest | None:
        """Return the open request; None if its key belongs to an existing CA."""
        file = self._directory / "requested-ca.pem"
        if not file.exists():
            return None
        try:
            request = CaRequest.read(file.read_text())
        except (ValueError, TypeError) as error:
            log.error("CA: request file %s is not usable and is ignored: %s", file, error)
            return None
        is_answered = any(signer.key.public_key() == request.key.public_key() for signer in answered)
        return None if is_answered else request

    def retire(self, stored: CertificateState) -> None:
        """Delete files that an earlier start imported. Mark files whose contents `stored`, as read back from the store, includes.
        Errors are logged: the files are not used.
        """
        try:
            self._delete_imported()
            if not self._marker.exists() and any((self._directory / name).exists() for name in _NAMES):
                self._mark(stored)
        except (OSError, ValueError) as error:
            log.error("CA: the files in %s, which are no longer used, were kept: %s", self._directory, error)

    def _delete_imported(self) -> None:
        if not self._marker.exists():
            return
        imported = set(self._marker.read_text().splitlines())
        for line in [each for each in self._lines() if each in imported]:
            (self._directory / line.partition("  ")[2]).unlink()
        sync_directory(self._directory)
        self._marker.unlink()

    def _mark(self, stored: CertificateState) -> None:
        lines, found = self._lines(), self.read()
        if found is None or replace(found, client=stored.client).stored != stored.stored:
            log.warning(
                "CA: the files in %s are not used, because the store has a different CA. Move them to another directory, "
                "except ca.pem and server.pem.",
                self._directory,
            )
            return
        write_private(self._marker, "".join(f"{line}\n" for line in lines).encode())

    def _lines(self) -> list[str]:
        """Return digest and name of each file, as `sha256sum` does."""
        files = [self._directory / name for name in _NAMES]
        return [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files if file.exists()]
