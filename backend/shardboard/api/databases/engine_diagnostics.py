"""Endpoints that query a shard's engine: slow log, INFO and clients."""

import heapq
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import ShardEditor, ShardViewer
from shardboard.api.http.dependencies import ConsoleDep
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.domain.databases import engine_diagnostics
from shardboard.domain.databases.engine_diagnostics import SlowCommand
from shardboard.errors import Conflict

router = ApiRouter(prefix="/v1", tags=["shards"])

MAX_SLOW_ENTRIES = 128
MAX_CLIENTS = 1000


class SlowEntry(BaseModel):
    id: int
    at: int = Field(description="Time of the execution, in epoch seconds.")
    microseconds: int = Field(description="Execution time in microseconds, without the time in the queue.")
    arguments: list[str] = Field(description="Command and arguments; the engine truncates long ones.")
    client: str = Field(description="Address of the client. For clients of the endpoint, the address of the proxy.")
    client_name: str


class SlowLog(BaseModel):
    shard_uid: str
    threshold_us: int = Field(description="Commands that take longer are recorded. Negative: disabled.")
    entries: list[SlowEntry] = Field(description="Newest first.")


class EngineInfo(BaseModel):
    shard_uid: str
    sections: dict[str, dict[str, str]] = Field(description="Values by section and name, as the engine returns them.")


class ShardClient(BaseModel):
    id: int
    kind: str = Field(
        description="Kind of client: `endpoint` is a proxy; `console` is the console or an agent.",
        json_schema_extra={"enum": ["application", "endpoint", "replica", "primary", "console"]},
    )
    addr: str = Field(description="Address; empty for a Unix socket connection from the shard's node.")
    name: str
    user: str
    library: str = Field(description="Client library and version, if the client reports them.")
    connected_seconds: int
    idle_seconds: int
    command: str = Field(description="Last command; empty before the first.")
    memory_bytes: int = Field(description="Memory of the client in the engine.")


class ShardClients(BaseModel):
    shard_uid: str
    total: int = Field(description="Number of all clients.")
    clients: list[ShardClient] = Field(description="Clients, those with the highest memory usage first.")


@router.get(
    "/shards/{uid}/slowlog", summary="Get slow log", response_model=SlowLog, responses=error_responses(404, 409)
)
async def get_slow_log(
    _editor: ShardEditor,
    console: ConsoleDep,
    uid: Uid,
    limit: Annotated[int, Query(ge=1, le=MAX_SLOW_ENTRIES, description="Maximum number of entries.")] = 32,
) -> JSONResponse:
    """Return the slow log of a shard. It contains keys and data of clients, so it requires an editor role.

    Returns 409 if the shard does not respond. Required role: `admin`, `cluster_member`, or `db_member`.
    """
    reply = await console.shard_query_cache.query(uid, "SLOWLOG", "GET", str(limit))
    threshold = await console.shard_query_cache.query(uid, "CONFIG", "GET", "slowlog-log-slower-than")
    try:
        entries = engine_diagnostics.slow_commands(reply)
    except ValueError as error:
        raise Conflict("shard_unreachable", f"Shard redis:{uid}: {error}.") from error
    return JSONResponse(
        {"shard_uid": str(uid), "threshold_us": _threshold(threshold), "entries": [_entry(each) for each in entries]}
    )


@router.get(
    "/shards/{uid}/info", summary="Get INFO of shard", response_model=EngineInfo, responses=error_responses(404, 409)
)
async def get_engine_info(_viewer: ShardViewer, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Return the reply of the shard to INFO, by section. Returns 409 if the shard does not respond."""
    reply = await console.shard_query_cache.query(uid, "INFO", "everything")
    return JSONResponse({"shard_uid": str(uid), "sections": engine_diagnostics.sections(reply)})


@router.get(
    "/shards/{uid}/clients",
    summary="List clients of shard",
    response_model=ShardClients,
    responses=error_responses(404, 409),
)
async def list_shard_clients(
    _viewer: ShardViewer,
    console: ConsoleDep,
    uid: Uid,
    limit: Annotated[int, Query(ge=1, le=MAX_CLIENTS, description="Maximum number of clients.")] = 100,
) -> JSONResponse:
    """Return the client connections of a shard. Returns 409 if the shard does not respond."""
    clients = engine_diagnostics.clients(await console.shard_query_cache.query(uid, "CLIENT", "LIST"))
    first = heapq.nlargest(limit, clients, key=lambda each: (each.memory_bytes, -each.id))
    return JSONResponse({"shard_uid": str(uid), "total": len(clients), "clients": [asdict(each) for each in first]})


def _entry(each: SlowCommand) -> dict[str, Any]:
    return {
        "id": each.id,
        "at": each.at,
        "microseconds": each.microseconds,
        "arguments": list(each.arguments),
        "client": each.client,
        "client_name": each.client_name,
    }


def _threshold(reply: str) -> int:
    """Return the threshold in a reply to CONFIG GET, which can be a list or a map."""
    digits = "".join(character for character in reply.rpartition("than")[2] if character.isdigit() or character == "-")
    return int(digits or 0)
