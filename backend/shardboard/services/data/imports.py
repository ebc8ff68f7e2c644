"""Requesting inspections of files, and imports, which can refer to an inspection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.data_parameters import RestoreParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.data import import_report
from shardboard.domain.data.statuses import RestoreKind
from shardboard.domain.text import plural
from shardboard.errors import NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.data import restores, uploads
from shardboard.services.data.import_sources import ImportSource, parse_sources
from shardboard.state.data import restores as rows
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

INSPECTION_DEADLINE = timedelta(days=1)
INSPECTION_LIFETIME = timedelta(days=1)
"""How long an import can refer to an inspection. The files could have changed since then."""


@dataclass(frozen=True)
class Consent:
    """Conditions under which a user starts an import."""

    inspection_uid: int | None = None
    """A finished inspection of the same files; None: the import inspects them first, and accepts losses."""
    accept_losses: bool = False
    force: bool = False
    """As in `restores.Selection`."""


async def request_inspection(
    session: AsyncSession, bdb: Bdb, sources: Sequence[Mapping[str, Any]], principal: Principal, *, identities: str = ""
) -> Restore:
    """Queue an inspection of files before an import into a database, which is not changed. The cluster row is locked.

    `identities` are private keys that decrypt encrypted files.
    """
    parsed = await parse_sources(session, bdb, sources, principal, identities)
    files, nothing = [each.as_json() for each in parsed], restores.Selection()
    row = restores.new_row(bdb, RestoreKind.INSPECTION, _describe(parsed), files, nothing, principal.username)
    session.add(row)
    await session.flush()
    await uploads.mark_used(session, [each.upload for each in parsed if each.upload is not None], row)
    action = queue.enqueue(
        session,
        ActionName.INSPECT_FILES,
        object_type="restore",
        object_uid=row.uid,
        description=f"Inspect files for an import into database {bdb.name}",
        originator=principal.username,
        deadline=INSPECTION_DEADLINE,
        params=RestoreParameters(cancellable=True, restore_uid=row.uid),
    )
    row.action_uid = action.uid
    await session.flush()
    return row


async def request_import(
    session: AsyncSession,
    bdb: Bdb,
    sources: Sequence[Mapping[str, Any]],
    principal: Principal,
    consent: Consent | None = None,
    *,
    identities: str = "",
) -> Restore:
    """Queue an import of files, in the format of the Redis Enterprise REST API, into an idle and locked database.

    All current keys are deleted first. Raises NotAcceptable if an inspection that the request names found that the import is not
    possible, or has losses that the request does not accept. `identities` are private keys that decrypt encrypted files.
    """
    consent = consent or Consent()
    parsed = await parse_sources(session, bdb, sources, principal, identities)
    files = [each.as_json() for each in parsed]
    inspection = None
    if consent.inspection_uid is not None:
        inspection = await _require_consent(session, bdb, files, consent)
    row = await restores.queue_restore(
        session,
        bdb,
        RestoreKind.IMPORT,
        source=_describe(parsed),
        sources=files,
        selection=restores.Selection(force=consent.force),
        originator=principal.username,
        inspection=inspection,
    )
    await uploads.mark_used(session, [each.upload for each in parsed if each.upload is not None], row)
    return row


async def _require_consent(
    session: AsyncSession, bdb: Bdb, sources: Sequence[Mapping[str, Any]], consent: Consent
) -> dict[str, Any]:
    """Return the report of the inspection. Raises NotFound, or NotAcceptable if the import must not start."""
    row = await restores.get_restore(session, consent.inspection_uid or 0)
    report = await rows.report(session, row.uid)
    is_same = _files(row.sources) == _files(sources)
    if not row.is_inspection or row.bdb_uid != bdb.uid or report is None or not is_same:
        message = (
            f"{row.uid} is not a finished inspection of these files for database {bdb.name}. Inspect the files again."
        )
        raise NotAcceptable("inspection_not_usable", message, field="inspection_uid")
    if datetime.now(UTC) - row.created_at > INSPECTION_LIFETIME:
        message = f"Inspection {row.uid} is older than {INSPECTION_LIFETIME.days} day. Inspect the files again."
        raise NotAcceptable("inspection_not_usable", message, field="inspection_uid")
    for problem in report["problems"]:
        if problem["code"] != import_report.TOO_LARGE:
            raise NotAcceptable(problem["code"], problem["message"], field="dataset_import_sources")
    restores.check_memory(bdb, report["needed_bytes"], force=consent.force, subject="The files need about")
    if report["losses"] and not consent.accept_losses:
        reasons = " ".join(each["message"] for each in report["losses"])
        message = (
            f"The import loses {plural(report['lost_keys'], 'key')}. {reasons} Send accept_losses to import the others."
        )
        raise NotAcceptable("import_with_losses", message, field="accept_losses")
    return report


def _files(sources: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    """Return what identifies the files of sources: uploads of files with the same name have different paths."""
    return [(each.get("name"), each["files"]) for each in sources]


def _describe(sources: Sequence[ImportSource]) -> str:
    first = sources[0].name
    return first if len(sources) == 1 else f"{first} and {plural(len(sources) - 1, 'other file')}"


async def get_report(session: AsyncSession, uid: int) -> dict[str, Any]:
    """Return the report about the files of an import. Raises NotFound if there is none."""
    await restores.get_restore(session, uid)
    report = await rows.report(session, uid)
    if report is None:
        raise NotFound("report_not_found", f"The files of {uid} have not been inspected.")
    return report
