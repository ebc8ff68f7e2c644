"""Whether a request comes from the console's own machine."""

import ipaddress

from fastapi import Request

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "origin")


def is_local(request: Request) -> bool:
    """From a loopback address, and not through a proxy on it: that one speaks for others, and a web page in a local browser for its
    author."""
    client = request.client.host if request.client else ""
    return is_loopback(client) and not any(header in request.headers for header in _FORWARDED)


def is_loopback(host: str | None) -> bool:
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
