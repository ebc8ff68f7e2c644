"""New certificates for running shards. They are served from the next connection; open connections are kept."""

import asyncio

from shardboard.agent import sealed
from shardboard.agent.contract import CommandResult, RenewCertificates
from shardboard.agent.processes import Supervisor
from shardboard.agent.results import result_of
from shardboard.agent.shard import Shard

ANSWER_SECONDS = 10
_RELOAD = (
    *("CONFIG", "SET", "tls-ca-cert-file", sealed.AUTHORITIES),
    *("tls-cert-file", sealed.IDENTITY, "tls-key-file", sealed.IDENTITY),
)
"""Makes the engine read the files again although their names have not changed."""


async def renew(supervisor: Supervisor, order: RenewCertificates) -> list[CommandResult]:
    """Install the certificates for all shards of the database on this node. Stopped shards read them when they start."""
    concerned = supervisor.of_database(order.bdb_uid, order.engine_ids)
    return await asyncio.gather(
        *(
            result_of(shard.record.spec.uid, _renew(shard, order), ANSWER_SECONDS, "its certificates")
            for shard in concerned
            if sealed.is_sealed(shard.directory)
        )
    )


async def _renew(shard: Shard, order: RenewCertificates) -> str:
    await asyncio.to_thread(sealed.write, shard.directory, order.tls)
    while shard.state == "starting":  # noqa: ASYNC110 - it may have read the old files; a process has no event
        await asyncio.sleep(0.02)
    if shard.state == "running":
        await (await shard.connect()).execute(*_RELOAD)
    return ""
