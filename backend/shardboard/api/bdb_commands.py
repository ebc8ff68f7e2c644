"""Commands to a database over HTTP, for scripts that wait until one answers."""

import asyncio
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.deps import Admin, TheConsole
from shardboard.api.found import bdb_of
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.errors import Conflict, NotAcceptable
from shardboard.state import shards

router = APIRouter(tags=["databases"])

HARMLESS = ("PING", "DBSIZE")
"""The console would execute anything with all rights, on its own connection to the shard."""


class Command(BaseModel):
    model_config = ConfigDict(strict=True)

    command: str = Field(max_length=64, description=f"{' or '.join(HARMLESS)}.", examples=["PING"])


class Answer(BaseModel):
    response: str | int = Field(description="PONG of PING; the keys of all shards of DBSIZE.")


@router.post("/bdbs/{uid}/command", response_model=Answer, responses=errors(404, 406, 409))
async def execute(_admin: Admin, console: TheConsole, uid: Uid, body: Command) -> JSONResponse:
    """Ask all primaries of a database; 409 when one of them does not answer. Everything else is for clients of its endpoint."""
    name = body.command.strip().upper()
    if name not in HARMLESS:
        sentence = f"Only {' and '.join(HARMLESS)} are executed here; send other commands to the database's endpoint."
        raise NotAcceptable("not_supported", sentence, field="command")
    async with console.store.read() as session:
        bdb = await bdb_of(session, uid)
        rows = await shards.of_bdb(session, uid)
    primaries = {row.pair: row.uid for row in rows if row.current_role == "master"}
    if not rows or primaries.keys() != {row.pair for row in rows}:
        raise Conflict("shard_unreachable", f"Not every pair of {bdb.name} has a primary now.")
    replies = await asyncio.gather(*(console.shard_looks.ask(shard, name) for shard in primaries.values()))
    told: dict[str, Any] = {"response": sum(int(each) for each in replies) if name == "DBSIZE" else replies[0]}
    return JSONResponse(told)
