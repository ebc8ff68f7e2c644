"""Endpoints of storage locations of backups."""

from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.kit import age_keys
from shardboard.schemas.data import locations as schema
from shardboard.services.access.authorization import ADMINS
from shardboard.services.data import found_backups
from shardboard.services.data import locations as service
from shardboard.services.data.backup_keys import KeyChanges
from shardboard.state.data import backups, locations

router = ApiRouter(prefix="/v1/backup_locations", tags=["backups"])

LocationList = Annotated[ListQuery, Depends(list_query_of(schema.BackupLocation))]


@router.get("", response_model=list[schema.BackupLocation], responses=error_responses())
async def list_backup_locations(viewer: AnyViewer, session: ReadSession, query: LocationList) -> JSONResponse:
    """Return all backup locations. Only administrators see more than their names and types; secrets are never returned."""
    users = await service.used_by(session)
    return query.reply(
        [
            schema.render(row, users.get(row.uid, ()), settings=viewer.role in ADMINS)
            for row in await locations.list_all(session)
        ]
    )


@router.post("", response_model=schema.BackupLocation, responses=error_responses(406, 409))
async def create_backup_location(admin: Admin, session: WriteSession, body: schema.NewLocation) -> JSONResponse:
    """Add a backup location. It is not tested. Required role: `admin`."""
    keys = KeyChanges(body.recipients, body.identities)
    return JSONResponse(
        schema.render(await service.create(session, body.name, body.location, keys, admin), (), settings=True)
    )


@router.get("/{uid}", response_model=schema.BackupLocation, responses=error_responses(404))
async def get_backup_location(viewer: AnyViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return a backup location. Only administrators see more than its name and type; secrets are never returned."""
    row = await service.get_location(session, uid)
    users = await service.used_by(session)
    return JSONResponse(schema.render(row, users.get(uid, ()), settings=viewer.role in ADMINS))


@router.put("/{uid}", response_model=schema.BackupLocation, responses=error_responses(404, 406, 409))
async def update_backup_location(
    admin: Admin, session: WriteSession, uid: Uid, body: schema.LocationUpdate
) -> JSONResponse:
    """Change a backup location. Secrets that are not sent keep their values. Required role: `admin`."""
    keys = KeyChanges(body.recipients, body.identities, body.delete_identities)
    row = await service.update(session, uid, body.name, body.location, keys, admin)
    users = await service.used_by(session)
    return JSONResponse(schema.render(row, users.get(uid, ()), settings=True))


@router.delete("/{uid}", responses=error_responses(404, 409))
async def delete_backup_location(admin: Admin, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete a backup location that contains no backups and is not used by any database. Required role: `admin`."""
    await service.delete(session, uid, admin)
    return {}


@router.post(
    "/actions/test",
    summary="Test new backup location",
    response_model=schema.LocationChecks,
    responses=error_responses(404, 406, 503),
)
async def check_new_backup_location(_admin: Admin, console: ConsoleDep, body: schema.LocationTest) -> JSONResponse:
    """Write, read, list, and delete a small file in a location before it is stored. Required role: `admin`."""
    service.check(body.location)
    return JSONResponse(await console.locations.check(body.location, body.node_uid))


@router.post(
    "/actions/create_key",
    summary="Create backup key",
    response_model=schema.NewBackupKey,
    responses=error_responses(),
)
async def create_backup_key(_admin: Admin) -> JSONResponse:
    """Create a key pair for encrypted backups, as `age-keygen` does. It is not stored. Required role: `admin`."""
    identity = age_keys.generate_identity()
    return JSONResponse({"recipient": age_keys.recipient_of(identity), "identity": identity})


@router.post(
    "/{uid}/actions/test",
    summary="Test backup location",
    response_model=schema.LocationChecks,
    responses=error_responses(404, 406, 503),
)
async def check_backup_location(_admin: Admin, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Write, read, list, and delete a small file in a location. Required role: `admin`."""
    async with console.store.read() as session:
        location = service.parse((await service.get_location(session, uid)).location)
    return JSONResponse(await console.locations.check(location))


@router.post(
    "/{uid}/actions/find_backups",
    summary="Find backups in location",
    response_model=schema.FoundBackups,
    responses=error_responses(404, 406, 503),
)
async def find_backups_in_location(admin: Admin, console: ConsoleDep, uid: Uid) -> JSONResponse:
    """Add backups in a location that are not in the list of backups, such as those of another cluster.

    They can then be restored. They do not belong to a database, so retention rules do not delete them.
    Required role: `admin`.
    """
    async with console.store.read() as session:
        row = await service.get_location(session, uid)
        known = await backups.paths_in_location(session, uid)
    found = await console.locations.find_backups(service.parse(row.location), known)
    async with console.store.begin() as session:
        added = await found_backups.add(session, uid, found.manifests, admin)
    invalid = [{"path": path, "error": error} for path, error in found.invalid.items()]
    return JSONResponse({"added": added, "invalid": invalid, "has_more": found.has_more})
