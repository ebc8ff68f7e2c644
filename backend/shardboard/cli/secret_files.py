"""Files with secrets, which are never arguments of commands."""

from pathlib import Path

from shardboard.errors import CommandError
from shardboard.kit import age_keys
from shardboard.kit.age_keys import InvalidKey


def read_passphrase(file: Path | None) -> str | None:
    """Raises CommandError, like all functions here."""
    return None if file is None else read_secret(file, "passphrase").removesuffix("\n")


def read_identities(file: Path | None) -> list[str]:
    """Return the age private keys in a file."""
    if file is None:
        return []
    try:
        return age_keys.identities_in(read_secret(file, "identity"))
    except InvalidKey as error:
        raise CommandError(f"{file} {error}") from error


def read_secret(file: Path, kind: str) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the {kind} file {file} is not readable") from error
