"""Creating, changing and deleting storage locations of backups, and reading locations of requests."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import TypeAdapter, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.locations import SECRET_FIELDS, Location, Url
from shardboard.domain.data.location_fields import with_own_type
from shardboard.domain.text import plural
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.schemas.data.locations import URL_FIELDS, without_password
from shardboard.services.access.authorization import ADMINS, Principal
from shardboard.services.data import backup_keys, location_urls
from shardboard.services.data.backup_keys import KeyChanges
from shardboard.state.alerting import events
from shardboard.state.cluster import console_backups
from shardboard.state.data import backups, locations, recordings, uploads
from shardboard.state.data.locations import BackupLocation
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb

_LOCATION: TypeAdapter[Location] = TypeAdapter(Location)


async def create(
    session: AsyncSession, name: str, location: Location, keys: KeyChanges, principal: Principal
) -> BackupLocation:
    """Add a location."""
    check(location)
    await _require_free_name(session, name)
    row = BackupLocation(
        name=name, location=location.model_dump(mode="json"), recipients=[], created_at=datetime.now(UTC)
    )
    backup_keys.apply(row, keys)
    session.add(row)
    await session.flush()
    _record(session, "backup_location_created", f"Backup location {name} was created.", principal)
    return row


async def update(
    session: AsyncSession, uid: int, name: str | None, location: Location | None, keys: KeyChanges, principal: Principal
) -> BackupLocation:
    """Change a location. Secrets that the request does not contain keep their values."""
    row = await get_location(session, uid)
    if name is not None and name != row.name:
        await _require_free_name(session, name)
        row.name = name
    if location is not None:
        merged = with_stored_secrets(location.model_dump(mode="json"), row.location)
        check(parse(merged))
        row.location = merged
    backup_keys.apply(row, keys)
    _record(session, "backup_location_updated", f"Backup location {row.name} was changed.", principal)
    return row


async def delete(session: AsyncSession, uid: int, principal: Principal) -> None:
    """Delete a location that neither a schedule nor a backup uses. The files in it are kept."""
    row = await get_location(session, uid)
    if users := (await used_by(session)).get(uid):
        message = f"Database {users[0]} uses the location {row.name} for its backups. Change its schedule first."
        raise Conflict("location_in_use", message)
    if uids := await backups.uids_in_location(session, uid):
        count = plural(len(uids), "backup")
        message = f"The location {row.name} contains {count}. Delete them first, for example backup {uids[0]}."
        raise Conflict("location_in_use", message)
    if await recordings.uids_in_location(session, uid):
        message = (
            f"The location {row.name} contains recorded changes. They are deleted after the backups that need them."
        )
        raise Conflict("location_in_use", message)
    if uids := await uploads.uids_in_location(session, uid):
        count = plural(len(uids), "uploaded file")
        raise Conflict("location_in_use", f"The location {row.name} contains {count} for imports. Delete them first.")
    schedule = await console_backups.load_schedule(session)
    if schedule is not None and schedule.location_uid == uid:
        message = f"Backups of the console use the location {row.name}. Change their schedule first."
        raise Conflict("location_in_use", message)
    if uids := await console_backups.uids_in_location(session, uid):
        count = plural(len(uids), "backup")
        raise Conflict(
            "location_in_use", f"The location {row.name} contains {count} of the console. Delete them first."
        )
    await session.delete(row)
    _record(session, "backup_location_deleted", f"Backup location {row.name} was deleted.", principal)


async def get_location(session: AsyncSession, uid: int) -> BackupLocation:
    row = await locations.by_uid(session, uid) if 0 < uid < 2**31 else None
    if row is None:
        raise NotFound("location_not_found", f"Backup location {uid} does not exist.")
    return row


async def used_by(session: AsyncSession) -> dict[int, list[int]]:
    """Return the uids of the databases that use each location for scheduled backups, by the uid of the location."""
    users: dict[int, list[int]] = {}
    for bdb in await bdbs.list_all(session):
        if uid := bdb.config.get("backup_location_uid", 0):
            users.setdefault(uid, []).append(bdb.uid)
    return users


async def default_for(session: AsyncSession, bdb: Bdb, uid: int | None) -> BackupLocation | Location:
    """Return the location with this uid; else the one of the database's schedule, or the only one."""
    if uid is not None:
        return await get_location(session, uid)
    if (scheduled := await of_schedule(session, bdb)) is not None:
        return scheduled
    rows = await locations.list_all(session)
    if len(rows) != 1:
        message = (
            "Several backup locations exist. Send location_uid."
            if rows
            else "No backup location exists. Create one first, then repeat the request."
        )
        raise NotAcceptable("missing_backup_location", message, field="location_uid")
    return rows[0]


async def of_schedule(session: AsyncSession, bdb: Bdb) -> BackupLocation | Location | None:
    """Return the location of the scheduled backups of a database. Raises NotFound, or NotAcceptable if it is invalid."""
    if inline := bdb.config.get("backup_location"):
        return of_export(inline)
    uid: int = bdb.config.get("backup_location_uid", 0)
    return await get_location(session, uid) if uid else None


def parse(location: Mapping[str, Any], field: str = "location") -> Location:
    """Return the location of a stored row or of a request. Raises NotAcceptable."""
    try:
        return _LOCATION.validate_python(dict(location))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"][1:])
        message = f"The location is invalid: {path or 'type'}: {first['msg']}."
        raise NotAcceptable("invalid_backup_location", message, field=field) from None


def check(location: Location) -> None:
    """Check a location for backups. Raises NotAcceptable."""
    if isinstance(location, Url):
        message = "A location of type url can only be read. Use it for imports."
        raise NotAcceptable("invalid_backup_location", message, field="location.type")
    check_path(location)


def check_path(location: Location) -> None:
    """Check that the folder of a location is absolute and does not contain `..`, and its URLs. Raises NotAcceptable."""
    location_urls.check(location)
    if location.type == "mount_point" and not location.path.startswith("/"):
        raise NotAcceptable(
            "invalid_backup_location", "The path of a mount point must be absolute.", field="location.path"
        )
    folder = location.path if location.type == "mount_point" else getattr(location, "subdir", "")
    if ".." in folder.split("/"):
        raise NotAcceptable(
            "invalid_backup_location", "The path of a location must not contain `..`.", field="location.path"
        )


def with_stored_secrets(location: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a location in which missing secrets have their stored values, if the type is the same.

    Raises NotAcceptable if these would be sent to another server.
    """
    merged = dict(location)
    if location["type"] != stored.get("type"):
        return merged
    for name in SECRET_FIELDS & merged.keys():
        merged[name] = merged[name] or stored.get(name, "")
    for name in set(URL_FIELDS) & merged.keys():
        if merged[name] and merged[name] == without_password(stored.get(name, "")):
            merged[name] = stored[name]
    if merged != location and (changed := location_urls.changed_destination(merged, stored)):
        message = (
            f"{changed} of the location has changed. Send its credentials again, because they are sent to that server."
        )
        raise NotAcceptable("missing_credentials", message, field=f"location.{changed}")
    return merged


async def check_scheduled(
    session: AsyncSession, fields: Mapping[str, Any], stored: Mapping[str, Any], principal: Principal
) -> dict[str, Any]:
    """Return the fields of a request for a database, with a complete `backup_location`. Secrets that it does not contain are those
    of `stored`, the current location. Raises NotFound, NotAcceptable or Forbidden.
    """
    if uid := fields.get("backup_location_uid", 0):
        await get_location(session, uid)
    inline = fields.get("backup_location")
    if not inline:
        return dict(fields)
    location = of_export(inline, field="backup_location").model_dump(mode="json")
    complete = with_stored_secrets(location, stored) if stored else location
    if complete != stored:
        require_own_credentials(parse(complete), principal)
    return {**fields, "backup_location": complete}


def source_of_import(source: Mapping[str, Any]) -> tuple[Location, str]:
    """Return the location and the file of an import source in the format of the Redis Enterprise REST API.

    The file is in `filename`, or the last part of `path`, `url` or `sftp_url`. Raises NotAcceptable.
    """
    fields = with_own_type({name: value for name, value in source.items() if name != "filename"})
    filename = source.get("filename") or ""
    if fields.get("type") == "url":
        location = parse(fields)
        location_urls.check(location)
        return location, urlsplit(str(fields["url"])).path.rpartition("/")[2] or "import.rdb"
    name = {"mount_point": "path", "ftp": "url", "sftp": "sftp_url"}.get(str(fields.get("type")))
    if not filename and name is not None and isinstance(fields.get(name), str):
        fields[name], filename = _split_file(fields[name])
    location = parse(fields)
    check_path(location)
    path = str(filename).lstrip("/")
    if not path or ".." in path.split("/") or not path.isprintable():
        message = "An import source needs the name of a file, in filename or as the last part of its path or URL."
        raise NotAcceptable("invalid_import_source", message, field="dataset_import_sources")
    return location, path


def of_export(location: Mapping[str, Any], field: str = "location") -> Location:
    """Return the location of an export in the format of the Redis Enterprise REST API. Raises NotAcceptable."""
    parsed = parse(with_own_type(location), field)
    check(parsed)
    return parsed


def require_own_credentials(location: Location, principal: Principal, *, is_read: bool = False) -> None:
    """Require that a location of a user who is not an administrator does not use the credentials of nodes, which would be sent to
    any `endpoint`. Raises Forbidden.

    Users who are limited to some databases also cannot read folders: these contain backups of other databases.
    """
    if principal.role in ADMINS:
        return
    if location.type == "mount_point" and is_read and principal.bdbs is not None:
        message = "The role is limited to some databases. Such users can import only from locations with credentials."
        raise Forbidden("unauthorized_action", message)
    names = _CREDENTIALS.get(location.type, ())
    if names and not any(all(getattr(location, name) for name in each) for each in names):
        choice = " or ".join(" and ".join(each) for each in names)
        message = f"Only administrators can use the credentials of nodes. Send {choice}, or use a stored location."
        raise Forbidden("unauthorized_action", message)


_CREDENTIALS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "s3": (("access_key_id", "secret_access_key"),),
    "gs": (("private_key",),),
    "abs": (("account_key",), ("sas_token",)),
}
"""Fields without which a store is opened with the credentials of the node."""


def describe(location: Location) -> str:
    """Return a description of a location without secrets, for events and lists."""
    match location.type:
        case "mount_point":
            return location.path
        case "s3" | "gs":
            return f"{location.type}://{location.bucket_name}/{location.subdir}".rstrip("/")
        case "abs":
            return f"abs://{location.account_name}/{location.container}/{location.subdir}".rstrip("/")
        case "sftp":
            return without_password(location.sftp_url)
        case _:
            return without_password(location.url)


def _split_file(text: str) -> tuple[str, str]:
    """Return the folder and the file of a path or URL."""
    parts = urlsplit(text) if "://" in text else None
    folder, _, name = (parts.path if parts else text).rpartition("/")
    return (urlunsplit(parts._replace(path=folder or "/")) if parts else folder or "/"), name


async def _require_free_name(session: AsyncSession, name: str) -> None:
    if await locations.by_name(session, name) is not None:
        raise Conflict("name_exists", f"A backup location with the name {name} already exists.", field="name")


def _record(session: AsyncSession, type_: str, message: str, principal: Principal) -> None:
    events.record(session, type_, message, originator=principal.username)
