"""Change of the admin password: of the engine user with which the agent controls its shards and replicas and moved slots are
copied.
"""

import asyncio

from shardboard.agent.databases import shard_config
from shardboard.agent.databases.command_results import run_for_result
from shardboard.agent.databases.engine_client import Connection, EngineError, OwnTraffic
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.shard import LocalShard
from shardboard.contract import ChangePassword, CommandResult

ANSWER_SECONDS = 10


async def change(supervisor: ShardSupervisor, request: ChangePassword) -> list[CommandResult]:
    """Use a new password from now on, with all shards of the database on this node. The shards already accept it and still accept
    the old one: connections stay open, and components without the new password can still connect.
    """
    processes = supervisor.list_for_database(request.bdb_uid, request.engine_ids)
    return await asyncio.gather(
        *(
            run_for_result(shard.record.spec.uid, _change(shard, request.password), ANSWER_SECONDS, "its record")
            for shard in processes
        )
    )


async def _change(shard: LocalShard, password: str) -> str:
    if shard.state != "running":
        raise EngineError("the shard is not running")
    (await Connection.open(shard.directory / shard_config.SOCKET, shard_config.ADMIN, password, OwnTraffic())).close()
    connection = await shard.connect()
    await connection.execute("CONFIG", "SET", "masterauth", password)
    await connection.execute("CONFIG", "REWRITE")
    bdb = shard.record.bdb.model_copy(update={"admin_password": password})
    shard.record = shard.record.model_copy(update={"bdb": bdb})
    await asyncio.to_thread(shard.record.save, shard.directory)
    return ""
