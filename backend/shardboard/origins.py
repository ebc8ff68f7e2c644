"""Where clients come from, as far as limits are concerned."""

from ipaddress import IPv6Address, ip_address, ip_network

IPV6_SITE = 64
"""Bits of an IPv6 address that one machine does not choose itself."""


def place(address: str) -> str:
    """What counts as one place: an address, of IPv6 the site that it is in."""
    try:
        found = ip_address(address)
    except ValueError:
        return "unknown"
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped or ip_network((found, IPV6_SITE), strict=False))
