"""Grouping of client addresses for limits."""

from ipaddress import IPv6Address, ip_address, ip_network

IPV6_PREFIX_LENGTH = 64
"""Prefix length of an IPv6 network: machines can choose the remaining bits themselves."""


def source_of(address: str) -> str:
    """Return the source that limits count: an IPv4 address, or the network of an IPv6 address."""
    try:
        parsed_address = ip_address(address)
    except ValueError:
        return "unknown"
    if not isinstance(parsed_address, IPv6Address):
        return str(parsed_address)
    return str(parsed_address.ipv4_mapped or ip_network((parsed_address, IPV6_PREFIX_LENGTH), strict=False))
