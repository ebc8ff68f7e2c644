"""An agent with its API over TLS, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from backend.tests.support.real_shards import unused_loopback_address, wait_until

from shardboard.agent.app import create_app
from shardboard.agent.cluster import key_generation
from shardboard.agent.cluster.identity import AgentIdentity, AgentPort, CertificateRenewal
from shardboard.agent.settings import AgentSettings
from shardboard.driver.interfaces import NodeRef
from shardboard.net.connection_limits import TimeoutProtocol
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.tls import PEER_DAYS

ADDRESS = unused_loopback_address()


@asynccontextmanager
async def running_agent(
    root: Path, authority: ConsoleCa, *, park: bool = False, backup_roots: tuple[Path, ...] = ()
) -> AsyncIterator[NodeRef]:
    """Run an agent with a certificate from this CA. Its shards keep running when it stops."""
    settings = AgentSettings(address=ADDRESS, state_dir=root, park=park, backup_roots=backup_roots)
    identity = identity_of(root, authority)
    port = AgentPort(identity)
    config = uvicorn.Config(
        create_app(settings, CertificateRenewal(identity, port)),
        host=ADDRESS,
        http=TimeoutProtocol,
        port=0,
        log_level="warning",
        timeout_graceful_shutdown=1,
        ssl_context_factory=lambda *_: port.context,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    try:
        await wait_until(lambda: server.started)
        yield NodeRef(1, ADDRESS, server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task


def identity_of(root: Path, authority: ConsoleCa, days: int = PEER_DAYS) -> AgentIdentity:
    key, csr = key_generation.generate()
    identity = AgentIdentity.in_state_dir(root, node_uid=1, addr=ADDRESS, port=0, console="")
    identity.save(root, authority.sign_agent(csr, ADDRESS, days), key, authority.ca_pem)
    return identity
