"""Endpoints of consoles that use the same store."""

from typing import Annotated

from fastapi import Path

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, Viewer, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.schemas.cluster import consoles as schema
from shardboard.services.cluster import consoles as service
from shardboard.state.cluster import consoles

router = ApiRouter(prefix="/v1", tags=["cluster"])

ConsoleId = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]


@router.get("/consoles", responses=error_responses())
async def list_consoles(_viewer: Viewer, session: ReadSession, console: ConsoleDep) -> list[schema.Console]:
    """Return the consoles of this store (extension)."""
    lease = await consoles.leadership(session)
    return [schema.render(row, lease, console.id) for row in await consoles.list_all(session)]


@router.post("/consoles/{uid}/actions/lead", summary="Change leader", responses=error_responses(404, 409))
async def change_leader(admin: Admin, session: WriteSession, console: ConsoleDep, uid: ConsoleId) -> schema.Console:
    """Make a running console the leader, for example before the current leader is upgraded (extension).

    The leader ends its loops first. This takes less than a second. Required role: `admin`.
    """
    row = await service.request_lead(session, uid, admin)
    return schema.render(row, await consoles.leadership(session), console.id)


@router.delete("/consoles/{uid}", summary="Remove lost console", responses=error_responses(404, 409))
async def remove_console(_admin: Admin, session: WriteSession, uid: ConsoleId) -> dict[str, str]:
    """Remove a console that is no longer running from the list. Its alarm ends (extension). Required role: `admin`."""
    await service.remove(session, uid)
    return {}
