"""New certificates for shards that run: from the next connection on they prove themselves by these. Open connections stay."""

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
"""The engine reads the files again, though their names are the same."""


async def renew(supervisor: Supervisor, order: RenewCertificates) -> list[CommandResult]:
    """Bring them to all shards of the database that are here; one that does not run finds them when it is started again."""
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
    while shard.state == "starting":  # noqa: ASYNC110 - it may have read the files of before, and a process has no event
        await asyncio.sleep(0.02)
    if shard.state == "running":
        await (await shard.connect()).execute(*_RELOAD)
    return ""
