"""What a shard's engine tells of itself, over HTTP: its slow log, its INFO and its clients."""

import heapq
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from shardboard.api.deps import TheConsole
from shardboard.api.parameters import Uid
from shardboard.api.reach import ShardEditor, ShardViewer
from shardboard.api.replies import errors
from shardboard.domain import engine_tells
from shardboard.domain.engine_tells import SlowCommand
from shardboard.errors import Conflict

router = APIRouter(tags=["shards"])

MOST = 128
MOST_CLIENTS = 1000


class SlowEntry(BaseModel):
    id: int
    at: int = Field(description="Epoch second at which it was executed.")
    microseconds: int = Field(description="Of the engine's time; waiting for its turn is not in it.")
    arguments: list[str] = Field(description="The command and what follows, as far as the engine keeps it.")
    client: str = Field(description="Address: of a proxy, for clients of the endpoint.")
    client_name: str


class SlowLog(BaseModel):
    shard_uid: str
    threshold_us: int = Field(description="What took longer is noted; negative: nothing is.")
    entries: list[SlowEntry] = Field(description="The newest first.")


class EngineInfo(BaseModel):
    shard_uid: str
    sections: dict[str, dict[str, str]] = Field(description="Values by section and name, as the engine tells them.")


class ShardClient(BaseModel):
    id: int
    kind: str = Field(
        description="What it is: endpoint for a proxy, console for agents, too.",
        json_schema_extra={"enum": ["application", "endpoint", "replica", "primary", "console"]},
    )
    addr: str = Field(description="Empty for one of the shard's own node, which needs no network.")
    name: str
    user: str
    library: str = Field(description="Client library and version, where it tells.")
    connected_seconds: int
    idle_seconds: int
    command: str = Field(description="The last one; empty before the first.")
    memory_bytes: int = Field(description="Of its buffers and structures in the engine.")


class ShardClients(BaseModel):
    shard_uid: str
    total: int = Field(description="All of them.")
    clients: list[ShardClient] = Field(description="Those that take most memory first.")


@router.get("/shards/{uid}/slowlog", response_model=SlowLog, responses=errors(404, 409))
async def get_slow_log(
    _editor: ShardEditor,
    console: TheConsole,
    uid: Uid,
    limit: Annotated[int, Query(ge=1, le=MOST, description="entries, at most")] = 32,
) -> JSONResponse:
    """Commands that took the shard long. For who may edit databases: arguments are keys and data of clients."""
    told = await console.shard_looks.ask(uid, "SLOWLOG", "GET", str(limit))
    threshold = await console.shard_looks.ask(uid, "CONFIG", "GET", "slowlog-log-slower-than")
    try:
        entries = engine_tells.slow_commands(told)
    except ValueError as error:
        raise Conflict("shard_unreachable", f"Shard redis:{uid}: {error}.") from error
    return JSONResponse(
        {"shard_uid": str(uid), "threshold_us": _threshold(threshold), "entries": [_entry(each) for each in entries]}
    )


@router.get("/shards/{uid}/info", response_model=EngineInfo, responses=errors(404, 409))
async def get_info(_viewer: ShardViewer, console: TheConsole, uid: Uid) -> JSONResponse:
    """The shard's INFO, section by section."""
    told = await console.shard_looks.ask(uid, "INFO", "everything")
    return JSONResponse({"shard_uid": str(uid), "sections": engine_tells.sections(told)})


@router.get("/shards/{uid}/clients", response_model=ShardClients, responses=errors(404, 409))
async def get_clients(
    _viewer: ShardViewer,
    console: TheConsole,
    uid: Uid,
    limit: Annotated[int, Query(ge=1, le=MOST_CLIENTS, description="clients, at most")] = 100,
) -> JSONResponse:
    """Connections to the shard, from whom, and what they did last."""
    found = engine_tells.clients(await console.shard_looks.ask(uid, "CLIENT", "LIST"))
    first = heapq.nlargest(limit, found, key=lambda each: (each.memory_bytes, -each.id))
    return JSONResponse({"shard_uid": str(uid), "total": len(found), "clients": [asdict(each) for each in first]})


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
    """Of the reply to CONFIG GET, whichever form it has."""
    digits = "".join(letter for letter in reply.rpartition("than")[2] if letter.isdigit() or letter == "-")
    return int(digits or 0)
