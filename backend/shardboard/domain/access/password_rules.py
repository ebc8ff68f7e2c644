"""Rules for passwords if the cluster setting `password_complexity` is on, as in the REST reference."""

import re

_MAX_REPETITIONS = 3
_MIN_NAME_LENGTH = 3
"""Shorter usernames occur in many passwords by chance."""
_KINDS = (
    ("an uppercase letter", re.compile(r"[A-Z]")),
    ("a lowercase letter", re.compile(r"[a-z]")),
    ("a digit", re.compile(r"[0-9]")),
    ("a special character, such as - or !", re.compile(r"[^A-Za-z0-9]")),
)


def validation_error(password: str, username: str) -> str | None:
    """Return why a password is not complex enough, or None. The length is checked elsewhere."""
    missing = [kind for kind, pattern in _KINDS if not pattern.search(password)]
    if missing:
        return f"The cluster requires complex passwords. This password lacks {_list_text(missing)}."
    if re.search(rf"(.)\1{{{_MAX_REPETITIONS}}}", password, re.DOTALL):
        return f"The cluster requires complex passwords. This one has a character more than {_MAX_REPETITIONS} times in a row."
    name = username.casefold()
    if len(name) >= _MIN_NAME_LENGTH and any(each in password.casefold() for each in (name, name[::-1])):
        return "The cluster requires complex passwords. This password contains the username, forwards or backwards."
    return None


def _list_text(kinds: list[str]) -> str:
    *first_kinds, last = kinds
    return f"{', '.join(first_kinds)} and {last}" if first_kinds else last
