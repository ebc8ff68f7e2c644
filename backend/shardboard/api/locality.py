"""Whether a request comes from the console's own machine."""

import ipaddress

import psutil
from fastapi import Request

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "origin")


def is_local(request: Request) -> bool:
    """From a loopback address, and not through a proxy on it: that one speaks for others, and a web page in a local browser for its
    author."""
    return is_loopback(_source(request)) and not _is_forwarded(request)


def is_from_here(request: Request) -> bool:
    """As `is_local`, also from another address of this machine."""
    source = _source(request)
    own = {each.address for of_one in psutil.net_if_addrs().values() for each in of_one}
    return (is_loopback(source) or source in own) and not _is_forwarded(request)


def _source(request: Request) -> str:
    return request.client.host if request.client else ""


def _is_forwarded(request: Request) -> bool:
    return any(header in request.headers for header in _FORWARDED)


def is_loopback(host: str | None) -> bool:
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
