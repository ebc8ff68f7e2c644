"""Takes what is secret out of texts that leave the house: secrets that are known, and what looks like one.

`str.replace` and `re.sub` do not let go of the interpreter while they run, so texts come in pieces of a few hundred kilobytes.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "***"
SHORTEST_SECRET = 4
"""Characters: hiding shorter ones wherever they occur would leave nothing to read."""
_SECRET_NAMES = re.compile(r"pass|secret|token|credential|(access|account|api|private)_key", re.IGNORECASE)
_LOOKS = (
    # Of PEM's characters, with line ends as they are or as JSON has them: whoever logs only the beginning hides nothing after it.
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[rn]){0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
        ),
        HIDDEN,
    ),
    (re.compile(r"://[^/\s@]{1,256}@"), f"://{HIDDEN}@"),
    # Of SHA-256: how engines keep passwords.
    (re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{64}(?![0-9A-Fa-f])"), HIDDEN),
)


def secrets_of(value: Any, name: str = "") -> set[str]:
    """Texts within a setting whose name says that they are secret."""
    match value:
        case str() if value and _SECRET_NAMES.search(name):
            return {value}
        case Mapping():
            return set().union(*(secrets_of(each, str(key)) for key, each in value.items()))
        case list():
            return set().union(*(secrets_of(each, name) for each in value))
    return set()


class Scrubber:
    """Hides the same secrets in many texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        chosen = sorted({each for each in secrets if len(each) >= SHORTEST_SECRET}, key=len, reverse=True)
        self._secrets = {each: json.dumps(each)[1:-1] for each in chosen}
        """As they are, and as JSON has them; the longest first, for one may be a part of another."""

    def text(self, text: str) -> str:
        """A text of no form, as of a log: secrets are hidden wherever they are."""
        for secret, escaped in self._secrets.items():
            text = text.replace(secret, HIDDEN).replace(escaped, HIDDEN)
        return _without_looks(text)

    def json(self, value: Any) -> str:
        """A value as JSON, in one line or, a list of them, in one for each. Names of fields, numbers and words like `true` stay,
        whatever somebody has as a password."""
        if isinstance(value, list):
            return "[\n" + ",\n".join(self.json(each) for each in value) + "\n]"
        written = json.dumps(value)
        found = [secret for secret, escaped in self._secrets.items() if escaped in written]
        if found or _without_looks(written) != written:
            return json.dumps(_scrubbed(value, found))
        return written


def _scrubbed(value: Any, secrets: Iterable[str]) -> Any:
    match value:
        case str():
            for secret in secrets:
                value = value.replace(secret, HIDDEN)
            return _without_looks(value)
        case Mapping():
            return {key: _scrubbed(each, secrets) for key, each in value.items()}
        case list() | tuple():
            return [_scrubbed(each, secrets) for each in value]
    return value


def _without_looks(text: str) -> str:
    for look, instead in _LOOKS:
        text = look.sub(instead, text)
    return text
