"""Host names that administrators enter. A name that cannot be encoded for a query is refused before a connection needs it."""

import re
from contextlib import suppress
from ipaddress import ip_address

LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
NAME = rf"{LABEL}(?:\.{LABEL})*"
"""Pattern of a host name. Underscores are common in container networks."""
MAX_LENGTH = 253
_LABEL = re.compile(LABEL)
_DIGITS_AND_DOTS = re.compile(r"[0-9.]+")


def host_error(host: str) -> str:
    """Return why a text is not a host name or an IP address, as a predicate; empty if it is one. Names of other scripts are
    checked in the form in which they are queried (IDNA)."""
    with suppress(ValueError):
        ip_address(host)
        return ""
    labels = host.removesuffix(".").split(".")
    if len(host) > MAX_LENGTH or _DIGITS_AND_DOTS.fullmatch(host) or not all(map(_is_label, labels)):
        return "is not a host name or an IP address"
    return ""


def _is_label(label: str) -> bool:
    """Return whether a label has 1 to 63 characters, and is valid Punycode if it claims to be."""
    try:
        encoded = label.encode("idna").decode("ascii")
        if encoded.lower().startswith("xn--"):
            decoded = encoded.encode("ascii").decode("idna")
            return bool(encoded[4:]) and not decoded.isascii() and decoded.isprintable()
    except UnicodeError:
        return False
    return _LABEL.fullmatch(encoded) is not None
