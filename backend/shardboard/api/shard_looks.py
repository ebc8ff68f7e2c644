"""What a shard's engine tells of itself, over HTTP: its slow log and its INFO."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from shardboard.api.deps import Editor, TheConsole, Viewer
from shardboard.api.paths import Uid
from shardboard.api.replies import errors
from shardboard.domain import engine_tells
from shardboard.domain.engine_tells import SlowCommand
from shardboard.errors import Conflict

router = APIRouter(tags=["shards"])

MOST = 128


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


@router.get("/shards/{uid}/slowlog", response_model=SlowLog, responses=errors(404, 409))
async def get_slow_log(
    _editor: Editor,
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
async def get_info(_viewer: Viewer, console: TheConsole, uid: Uid) -> JSONResponse:
    """The shard's INFO, section by section."""
    told = await console.shard_looks.ask(uid, "INFO", "everything")
    return JSONResponse({"shard_uid": str(uid), "sections": engine_tells.sections(told)})


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
