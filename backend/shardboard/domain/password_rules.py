"""What a password must be like where the cluster's `password_complexity` is on, as the REST reference's product has it."""

import re

_MOST_IN_A_ROW = 3
_LEAST_OF_A_NAME = 3
"""Shorter names are in many words by chance."""
_KINDS = (
    ("a capital letter", re.compile(r"[A-Z]")),
    ("a small letter", re.compile(r"[a-z]")),
    ("a digit", re.compile(r"[0-9]")),
    ("another character, such as - or !", re.compile(r"[^A-Za-z0-9]")),
)


def fault(password: str, username: str) -> str | None:
    """What is wrong with it, as a sentence; None when it is complex. How long it is, is another rule."""
    missing = [kind for kind, pattern in _KINDS if not pattern.search(password)]
    if missing:
        return f"The cluster wants complex passwords; this one lacks {_listed(missing)}."
    if re.search(rf"(.)\1{{{_MOST_IN_A_ROW}}}", password, re.DOTALL):
        return (
            f"The cluster wants complex passwords; this one has a character more than {_MOST_IN_A_ROW} times in a row."
        )
    name = username.casefold()
    if len(name) >= _LEAST_OF_A_NAME and any(each in password.casefold() for each in (name, name[::-1])):
        return "The cluster wants complex passwords; this one contains the user's name, forwards or backwards."
    return None


def _listed(kinds: list[str]) -> str:
    *others, last = kinds
    return f"{', '.join(others)} and {last}" if others else last
