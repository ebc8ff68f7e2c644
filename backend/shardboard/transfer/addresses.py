"""Addresses that transfers never connect to: those at which clouds provide metadata and credentials of machines.

Users who may import can choose a URL, so it must not be possible to read these through the node. The libraries of object stores do
not use Python's sockets: they get credentials of the node from there, and the host of `endpoint` is checked before.
"""

import socket
import sys
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from shardboard.transfer.errors import TransferError

_FORBIDDEN = tuple(
    map(
        ip_network,
        (
            "169.254.0.0/16",  # link-local; most clouds
            "fe80::/10",
            "fd00:ec2::/32",  # AWS
            "168.63.129.16/32",  # Azure
            "100.100.100.200/32",  # Alibaba Cloud
            "192.0.0.192/32",  # Oracle Cloud
        ),
    )
)


class ForbiddenAddress(OSError):
    """A connection to such an address."""

    def __init__(self, host: str) -> None:
        super().__init__(f"{host} is an address of machine metadata. Transfers do not connect to such addresses")


def is_forbidden(host: str) -> bool:
    """Return whether a host, given as an IP address, is such an address. False for names."""
    try:
        address: IPv4Address | IPv6Address = ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return any(address in network for network in _FORBIDDEN if network.version == address.version)


def forbid_connections() -> None:
    """Make all later connections of this process to such addresses fail, also after redirects. Cannot be undone."""
    sys.addaudithook(_check_connection)


def _check_connection(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(args[1], tuple) and is_forbidden(str(args[1][0])):
        raise ForbiddenAddress(str(args[1][0]))


def check_url(url: str) -> None:
    """Raise TransferError if the host of a URL has such an address. Names that cannot be resolved are accepted."""
    host = urlsplit(url).hostname or ""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)} if host else set()
    except OSError:
        return
    if host and any(map(is_forbidden, (host, *found))):
        raise TransferError("no-permission", f"{ForbiddenAddress(host)}.")
