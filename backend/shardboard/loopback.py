"""Ports and addresses of this machine's loopback network that belong to one process, so that whole clusters run side by side."""

import secrets
import socket
from contextlib import suppress
from itertools import count

PORTS = range(30000, 32768)
"""Below those that the kernel gives to outgoing connections: one of theirs may be taken while the console is away, even by who
tries again and again to reach it. Above those of shards."""
_ports = count(secrets.randbelow(len(PORTS)))
CLAIM_PORT = 64999
"""Above the ports that the kernel gives to outgoing connections."""
PORT_CLAIMS = "127.255.255.254"
_claims: list[socket.socket] = []
"""Who listens on one of these has what it stands for, until this process ends, however it ends."""


def claim_network() -> str:
    """The first three numbers of loopback addresses that no other process uses that asks here, nor this one again."""
    while True:
        network = f"127.{100 + secrets.randbelow(120)}.{1 + secrets.randbelow(250)}"
        if _claim(f"{network}.1", CLAIM_PORT):
            return network


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nobody has right now, and another one at every call, in whichever process."""
    for _ in PORTS:
        port = PORTS[next(_ports) % len(PORTS)]
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if _claim(PORT_CLAIMS, port):
                return port
    raise OSError(f"no port of {PORTS.start} to {PORTS.stop - 1} is free on 127.0.0.1")


def _claim(address: str, port: int) -> bool:
    claim = socket.socket()
    try:
        claim.bind((address, port))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True
