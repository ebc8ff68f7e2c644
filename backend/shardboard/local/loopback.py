"""Ports and loopback addresses reserved for one process, so that complete clusters can run side by side."""

import secrets
import socket
from contextlib import suppress
from itertools import count

PORTS = range(30000, 32768)
"""Below the kernel's ephemeral ports, which outgoing connections could take while the console is down, even connection attempts to
the console itself. Above the ports of shards.
"""
_ports = count(secrets.randbelow(len(PORTS)))
CLAIM_PORT = 64999
"""Above the kernel's ephemeral ports."""
PORT_CLAIMS = "127.255.255.254"
_claims: list[socket.socket] = []
"""Sockets that reserve a network or port while they listen, until this process ends, however it ends."""


def claim_network() -> str:
    """Return the first three numbers of loopback addresses that no other caller uses, in this or another process."""
    while True:
        network = f"127.{100 + secrets.randbelow(120)}.{1 + secrets.randbelow(250)}"
        if _claim(f"{network}.1", CLAIM_PORT):
            return network


def free_port() -> int:
    """Return a TCP port that is free on 127.0.0.1, a different one for each call in any process."""
    for _ in PORTS:
        port = PORTS[next(_ports) % len(PORTS)]
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if _claim(PORT_CLAIMS, port):
                return port
    raise OSError(f"no port from {PORTS.start} to {PORTS.stop - 1} is free on 127.0.0.1")


def _claim(address: str, port: int) -> bool:
    claim = socket.socket()
    try:
        claim.bind((address, port))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True
