"""New certificates for running shards. They are served from the next connection; open connections are kept."""

import asyncio

from shardboard.agent.databases import peer_tls
from shardboard.agent.databases.command_results import run_for_result
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.shard import LocalShard
from shardboard.contract import CommandResult, RenewCertificates

ANSWER_SECONDS = 10
_RELOAD = (
    *("CONFIG", "SET", "tls-ca-cert-file", peer_tls.CA_FILE),
    *("tls-cert-file", peer_tls.IDENTITY, "tls-key-file", peer_tls.IDENTITY),
)
"""Makes the engine read the files again although their names have not changed."""


async def install_certificates(supervisor: ShardSupervisor, request: RenewCertificates) -> list[CommandResult]:
    """Install the certificates for all shards of the database on this node. Stopped shards read them when they start."""
    processes = supervisor.list_for_database(request.bdb_uid, request.engine_ids)
    return await asyncio.gather(
        *(
            run_for_result(shard.record.spec.uid, _install(shard, request), ANSWER_SECONDS, "its certificates")
            for shard in processes
            if peer_tls.uses_tls(shard.directory)
        )
    )


async def _install(shard: LocalShard, request: RenewCertificates) -> str:
    await asyncio.to_thread(peer_tls.write_certificates, shard.directory, request.tls)
    while shard.state == "starting":  # noqa: ASYNC110 - it may have read the old files; a process has no event
        await asyncio.sleep(0.02)
    if shard.state == "running":
        await (await shard.connect()).execute(*_RELOAD)
    return ""
