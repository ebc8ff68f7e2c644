"""Endpoint that runs a command on a database, for scripts that wait until the database responds."""

import asyncio
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import Conflict, NotAcceptable
from shardboard.state.databases import shards

router = ApiRouter(prefix="/v1", tags=["databases"])

ALLOWED_COMMANDS = ("PING", "DBSIZE")
"""Allowed commands. The console has all permissions on its own connection to a shard, so other commands are rejected."""


class CommandRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    command: str = Field(max_length=64, description=f"{' or '.join(ALLOWED_COMMANDS)}.", examples=["PING"])


class CommandReply(BaseModel):
    response: str | int = Field(description="`PONG` for PING; the number of keys of all shards for DBSIZE.")


@router.post(
    "/bdbs/{uid}/command", summary="Run command", response_model=CommandReply, responses=error_responses(404, 406, 409)
)
async def run_command(_admin: Admin, console: ConsoleDep, uid: Uid, body: CommandRequest) -> JSONResponse:
    """Run `PING` or `DBSIZE` on all primaries of a database. Other commands return 406; clients send them to the endpoint.

    Returns 409 if a primary does not respond. Required role: `admin`.
    """
    name = body.command.strip().upper()
    if name not in ALLOWED_COMMANDS:
        message = (
            f"Only {' and '.join(ALLOWED_COMMANDS)} are supported. Send other commands to the endpoint of the database."
        )
        raise NotAcceptable("not_supported", message, field="command")
    async with console.store.read() as session:
        bdb = await get_bdb_or_404(session, uid)
        rows = await shards.list_for_bdb(session, uid)
    primaries = {row.pair: row.uid for row in rows if row.current_role == ShardRole.PRIMARY}
    if not rows or primaries.keys() != {row.pair for row in rows}:
        raise Conflict("shard_unreachable", f"Some shards of {bdb.name} have no primary. Try again later.")
    replies = await asyncio.gather(*(console.shard_query_cache.query(shard, name) for shard in primaries.values()))
    reply: dict[str, Any] = {"response": sum(int(each) for each in replies) if name == "DBSIZE" else replies[0]}
    return JSONResponse(reply)
