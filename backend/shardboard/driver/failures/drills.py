"""The datagram that ends the drill of an isolated node, which cannot reply to requests until its network is restored."""

import ipaddress
import socket
from contextlib import suppress

from shardboard.contract import drill_end_address
from shardboard.driver.interfaces import NodeRef


def send_end_token(node: NodeRef, token: str) -> None:
    """Send the token to the node. Other nodes, and nodes without such a drill, ignore it.

    Nodes with a DNS name are not isolated by their address, and end their drill with the request.
    """
    try:
        address = ipaddress.ip_address(drill_end_address(node.addr))
    except ValueError:
        return
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as sender, suppress(OSError):
        if address.is_loopback:  # the default source address can be that of another isolated node
            sender.bind((str(address), 0))
        sender.sendto(token.encode(), (str(address), node.port))
