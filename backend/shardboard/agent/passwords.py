"""Another password for the user as which the agent commands its shards, and replicas and slots come over from theirs."""

import asyncio

from shardboard.agent import render
from shardboard.agent.contract import ChangePassword, CommandResult
from shardboard.agent.processes import Supervisor
from shardboard.agent.resp import Connection, EngineError, OwnTraffic
from shardboard.agent.shard import Shard

ANSWER_SECONDS = 10


async def change(supervisor: Supervisor, order: ChangePassword) -> list[CommandResult]:
    """Use it from now on, with all shards of the database that are here. They know it already, and know the one before, too: open
    connections stay, and who has not been told yet gets in."""
    concerned = [shard for shard in supervisor.shards.values() if shard.record.spec.bdb_uid == order.bdb_uid]
    return await asyncio.gather(*(_change(shard, order.password) for shard in concerned))


async def _change(shard: Shard, password: str) -> CommandResult:
    uid = shard.record.spec.uid
    if shard.state != "running":
        return CommandResult(uid=uid, ok=False, reply="it does not run")
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            (await Connection.open(shard.directory / render.SOCKET, render.ADMIN, password, OwnTraffic())).close()
            connection = await shard.connect()
            await connection.execute("CONFIG", "SET", "masterauth", password)
            await connection.execute("CONFIG", "REWRITE")
        shard.record = shard.record.model_copy(
            update={"bdb": shard.record.bdb.model_copy(update={"admin_password": password})}
        )
        await asyncio.to_thread(shard.record.save, shard.directory)
    except TimeoutError:
        return CommandResult(uid=uid, ok=False, reply=f"no answer within {ANSWER_SECONDS} s")
    except OSError as error:
        return CommandResult(uid=uid, ok=False, reply=f"its record could not be written: {error.strerror}")
    except EngineError as error:
        return CommandResult(uid=uid, ok=False, reply=str(error))
    return CommandResult(uid=uid, ok=True)
