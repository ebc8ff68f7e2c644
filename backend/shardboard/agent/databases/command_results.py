"""Result of an operation on one shard, as returned to the console."""

import asyncio
from collections.abc import Awaitable

from shardboard.agent.databases.engine_client import EngineError
from shardboard.contract import CommandResult


async def run_for_result(uid: int, work: Awaitable[str], seconds: float, files: str = "") -> CommandResult:
    """Return the result of `work`, which yields the engine's reply. `files` names the files that it writes, if any."""
    try:
        async with asyncio.timeout(seconds):
            return CommandResult(uid=uid, ok=True, reply=await work)
    except TimeoutError:
        return CommandResult(uid=uid, ok=False, reply=f"no reply within {seconds} s")
    except OSError as error:
        if not files:
            raise
        return CommandResult(uid=uid, ok=False, reply=f"{files} could not be written: {error.strerror}")
    except EngineError as error:
        return CommandResult(uid=uid, ok=False, reply=str(error))
