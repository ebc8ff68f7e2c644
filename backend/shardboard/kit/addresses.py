"""Addresses of machines in texts and URLs."""

from ipaddress import ip_address


def url_host(address: str) -> str:
    """Return an address or host name as the host of a URL, with IPv6 addresses in brackets."""
    return f"[{address}]" if ":" in address else address


def host_port(address: str, port: int) -> str:
    """Return `host:port`, with IPv6 addresses in brackets."""
    return f"{url_host(address)}:{port}"


def normal_name(name: str) -> str:
    """Return the canonical spelling of a host name or address."""
    try:
        return str(ip_address(name))
    except ValueError:
        return name.lower()
