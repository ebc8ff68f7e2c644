"""Removal of secrets from exported texts: known secrets, and text that looks like a secret.

`str.replace` and `re.sub` hold the GIL while they run, so callers pass texts in pieces of a few hundred kilobytes.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

PLACEHOLDER = "***"
MIN_SECRET_LENGTH = 4
"""Characters. Hiding shorter secrets wherever they occur would make texts unreadable."""
_SECRET_NAMES = re.compile(r"pass|secret|token|credential|(access|account|api|private)_key", re.IGNORECASE)
_PATTERNS = (
    # Limited to PEM characters, with line ends as they are or escaped as in JSON: after a truncated key the text must stay visible.
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[rn]){0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
        ),
        PLACEHOLDER,
    ),
    (re.compile(r"://[^/\s@]{1,256}@"), f"://{PLACEHOLDER}@"),
    # SHA-256 hashes, the format in which engines store passwords.
    (re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{64}(?![0-9A-Fa-f])"), PLACEHOLDER),
)


def secrets_of(value: Any, name: str = "") -> set[str]:
    """Return the texts in a setting whose name indicates a secret."""
    match value:
        case str() if value and _SECRET_NAMES.search(name):
            return {value}
        case Mapping():
            return set().union(*(secrets_of(each, str(key)) for key, each in value.items()))
        case list():
            return set().union(*(secrets_of(each, name) for each in value))
    return set()


class Scrubber:
    """Hides a set of secrets in texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        sorted_secrets = sorted({each for each in secrets if len(each) >= MIN_SECRET_LENGTH}, key=len, reverse=True)
        self._secrets = {each: json.dumps(each)[1:-1] for each in sorted_secrets}
        """Secrets as they are and as escaped in JSON, the longest first, because one can be part of another."""

    def text(self, text: str) -> str:
        """Return a plain text, such as a log, with all secrets hidden."""
        for secret, escaped in self._secrets.items():
            text = text.replace(secret, PLACEHOLDER).replace(escaped, PLACEHOLDER)
        return _redact_patterns(text)

    def json(self, value: Any) -> str:
        """Return a value as JSON in one line, or a list with one item per line. Field names, numbers and literals such as `true`
        are kept even if they are equal to a secret."""
        if isinstance(value, list):
            return "[\n" + ",\n".join(self.json(each) for each in value) + "\n]"
        text = json.dumps(value)
        escaped_secrets = [secret for secret, escaped in self._secrets.items() if escaped in text]
        if escaped_secrets or _redact_patterns(text) != text:
            return json.dumps(_scrubbed(value, escaped_secrets))
        return text


def _scrubbed(value: Any, secrets: Iterable[str]) -> Any:
    match value:
        case str():
            for secret in secrets:
                value = value.replace(secret, PLACEHOLDER)
            return _redact_patterns(value)
        case Mapping():
            return {key: _scrubbed(each, secrets) for key, each in value.items()}
        case list() | tuple():
            return [_scrubbed(each, secrets) for each in value]
    return value


def _redact_patterns(text: str) -> str:
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
