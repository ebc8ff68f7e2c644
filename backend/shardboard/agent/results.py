"""What became of an order at one shard, as the console is told."""

import asyncio
from collections.abc import Awaitable

from shardboard.agent.contract import CommandResult
from shardboard.agent.resp import EngineError


async def result_of(uid: int, work: Awaitable[str], seconds: float, files: str = "") -> CommandResult:
    """`work` gives what the engine replied, if that matters; `files` is what it may fail to write, if it writes any."""
    try:
        async with asyncio.timeout(seconds):
            return CommandResult(uid=uid, ok=True, reply=await work)
    except TimeoutError:
        return CommandResult(uid=uid, ok=False, reply=f"no answer within {seconds} s")
    except OSError as error:
        if not files:
            raise
        return CommandResult(uid=uid, ok=False, reply=f"{files} could not be written: {error.strerror}")
    except EngineError as error:
        return CommandResult(uid=uid, ok=False, reply=str(error))
