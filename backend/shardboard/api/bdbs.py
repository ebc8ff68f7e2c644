"""Endpoints of databases."""

from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api import audited
from shardboard.api.deps import Editor, Principal, Reader, TheConsole, Tx
from shardboard.api.found import bdb_of
from shardboard.api.parameters import DryRun, Fields, Uid, is_on, only
from shardboard.api.reach import AnyViewer, BdbEditor, BdbViewer
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.errors import NotFound
from shardboard.schemas import bdbs as schema
from shardboard.schemas.bdb_fields import SECRETS
from shardboard.schemas.bdb_requests import BdbCreate, BdbUpdate
from shardboard.services import bdb_passwords, reshard_previews
from shardboard.services import bdbs as service
from shardboard.services.users import EDITORS
from shardboard.state import actions, bdbs, cluster, nodes, shards
from shardboard.state.bdbs import Bdb
from shardboard.state.shards import Shard

router = APIRouter(tags=["databases"])


@router.get("/bdbs", response_model=list[schema.Bdb], responses=errors())
async def list_bdbs(principal: AnyViewer, session: Reader, fields: Fields = "") -> JSONResponse:
    """Return all databases that the user can access."""
    rows = [bdb for bdb in await bdbs.every(session) if principal.reaches(bdb.uid)]
    shown = await represent(session, rows, secrets=_may_see_secrets(principal))
    return JSONResponse(_note_secrets([only(item, fields) for item in shown]))


@router.post("/bdbs", response_model=schema.Bdb, responses=errors(406, 409))
async def create_bdb(principal: Editor, session: Tx, body: BdbCreate, dry_run: DryRun = None) -> JSONResponse:
    """Create a database. The reply has the `status` `pending` and the `action_uid` to poll.

    The reply to a dry run contains the planned placement of the shards in `shards_blueprint`. Required role: `admin`,
    `cluster_member` or `db_member`, not limited to some databases.
    """
    bdb, rows = await service.create(session, body.given(), principal, dry_run=is_on(dry_run))
    shown = schema.render(
        bdb, rows, await nodes.every(session), await cluster.load(session), progress=0.0, secrets=True
    )
    _note_secrets([shown])
    return JSONResponse({**shown, "shards_blueprint": schema.blueprint(rows)} if is_on(dry_run) else shown)


@router.get("/bdbs/{uid}", response_model=schema.Bdb, responses=errors(404))
async def get_bdb(principal: BdbViewer, session: Reader, uid: Uid, fields: Fields = "") -> JSONResponse:
    """Return a database."""
    found = await represent(session, [await bdb_of(session, uid)], secrets=_may_see_secrets(principal))
    return JSONResponse(_note_secrets([only(found[0], fields)])[0])


@router.put("/bdbs/{uid}", response_model=schema.Bdb, responses=errors(404, 406, 409))
async def update_bdb(
    principal: BdbEditor, session: Tx, console: TheConsole, uid: Uid, body: BdbUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change a database. The request can contain the changed fields only, or the complete object.

    Unchanged fields are ignored. If nothing differs, no action starts. The reply to a dry run that changes `shards_count`
    contains the estimated cost in `reshard_preview`. Required role: `admin`, `cluster_member` or `db_member`.
    """
    bdb, plan = await service.update(session, uid, body.given(), principal, dry_run=is_on(dry_run))
    reply = await shown(session, bdb, principal)
    if is_on(dry_run) and plan is not None:
        reply["reshard_preview"] = await reshard_previews.preview(session, bdb, plan, newest_of(console))
    return JSONResponse(reply)


@router.delete("/bdbs/{uid}", response_model=schema.Bdb, responses=errors(404, 409))
async def delete_bdb(principal: BdbEditor, session: Tx, uid: Uid) -> JSONResponse:
    """Delete a database with all its data.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return JSONResponse(await shown(session, await service.delete(session, uid, principal), principal))


@router.put(
    "/bdbs/{uid}/{action}",
    summary="Flush database or replace admin password",
    response_model=schema.Bdb,
    responses=errors(404, 409),
)
async def act_on_bdb(
    principal: BdbEditor,
    session: Tx,
    uid: Uid,
    action: str,
    body: dict[str, Any] | None = None,
    dry_run: DryRun = None,
) -> JSONResponse:
    """Run an action on a database: `flush` deletes all keys; `reset_admin_pass` replaces the internal password of the shards.

    The shards stay available while their password is replaced. The body can be empty. Required role: `admin`,
    `cluster_member` or `db_member`.
    """
    handlers = {"flush": service.flush, "reset_admin_pass": bdb_passwords.reset_admin}
    if action not in handlers:
        raise NotFound("not_found", f"Databases do not have the action {action[:64]}. Use {' or '.join(handlers)}.")
    bdb = await handlers[action](session, uid, principal, dry_run=is_on(dry_run))
    return JSONResponse(await shown(session, bdb, principal))


async def represent(session: Reader, rows: Sequence[Bdb], *, secrets: bool = False) -> list[dict[str, Any]]:
    """Return databases in the format of the API and the event stream."""
    machines, cluster_row = await nodes.every(session), await cluster.load(session)
    shards_by_bdb = _by_bdb(await (shards.of_bdb(session, rows[0].uid) if len(rows) == 1 else shards.every(session)))
    shown = []
    for bdb in rows:
        action = await actions.by_uid(session, bdb.action_uid) if bdb.action_uid else None
        progress = action.progress if action else None
        shown.append(
            schema.render(
                bdb, shards_by_bdb.get(bdb.uid, []), machines, cluster_row, progress=progress, secrets=secrets
            )
        )
    return shown


def newest_of(console: Console) -> reshard_previews.Latest:
    """Return a function that returns the newest sample of a shard."""
    return lambda row: console.live.latest(f"shards:{row.bdb_uid}", str(row.uid))


async def shown(session: Reader, bdb: Bdb, principal: Principal) -> dict[str, Any]:
    """Return a database in the format of the API, with secrets if the user is allowed to see them, and audit that."""
    return _note_secrets(await represent(session, [bdb], secrets=_may_see_secrets(principal)))[0]


def _by_bdb(rows: Iterable[Shard]) -> dict[int, list[Shard]]:
    shards_by_bdb: dict[int, list[Shard]] = {}
    for shard in rows:
        shards_by_bdb.setdefault(shard.bdb_uid, []).append(shard)
    return shards_by_bdb


def _note_secrets(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if any(bdb.get(name) for bdb in shown for name in SECRETS):
        audited.shows_secrets("The reply contained database passwords or backup locations with credentials.")
    return shown


def _may_see_secrets(principal: Principal) -> bool:
    return principal.role in EDITORS
