"""Databases over HTTP."""

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
    """All databases."""
    rows = [bdb for bdb in await bdbs.every(session) if principal.reaches(bdb.uid)]
    shown = await represent(session, rows, secrets=_may_see_secrets(principal))
    return JSONResponse(_note_secrets([only(item, fields) for item in shown]))


@router.post("/bdbs", response_model=schema.Bdb, responses=errors(406, 409))
async def create_bdb(principal: Editor, session: Tx, body: BdbCreate, dry_run: DryRun = None) -> JSONResponse:
    """Order a database. The reply says `pending` and names the action to follow; of a dry run it says in `shards_blueprint`
    where the shards would be."""
    bdb, rows = await service.create(session, body.given(), principal, dry_run=is_on(dry_run))
    shown = schema.render(
        bdb, rows, await nodes.every(session), await cluster.load(session), progress=0.0, secrets=True
    )
    _note_secrets([shown])
    return JSONResponse({**shown, "shards_blueprint": schema.blueprint(rows)} if is_on(dry_run) else shown)


@router.get("/bdbs/{uid}", response_model=schema.Bdb, responses=errors(404))
async def get_bdb(principal: BdbViewer, session: Reader, uid: Uid, fields: Fields = "") -> JSONResponse:
    """One database."""
    found = await represent(session, [await bdb_of(session, uid)], secrets=_may_see_secrets(principal))
    return JSONResponse(_note_secrets([only(found[0], fields)])[0])


@router.put("/bdbs/{uid}", response_model=schema.Bdb, responses=errors(404, 406, 409))
async def update_bdb(
    principal: BdbEditor, session: Tx, console: TheConsole, uid: Uid, body: BdbUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change name, memory_size, shards_count, tags or eviction_policy. The rest of the object may be sent along unchanged.
    Of a dry run of another `shards_count` the reply says in `reshard_preview` what it would cost."""
    bdb, plan = await service.update(session, uid, body.given(), principal, dry_run=is_on(dry_run))
    reply = await shown(session, bdb, principal)
    if is_on(dry_run) and plan is not None:
        reply["reshard_preview"] = await reshard_previews.preview(session, bdb, plan, newest_of(console))
    return JSONResponse(reply)


@router.delete("/bdbs/{uid}", response_model=schema.Bdb, responses=errors(404, 409))
async def delete_bdb(principal: BdbEditor, session: Tx, uid: Uid) -> JSONResponse:
    """Order the removal of a database with all its data."""
    return JSONResponse(await shown(session, await service.delete(session, uid, principal), principal))


@router.put("/bdbs/{uid}/{action}", response_model=schema.Bdb, responses=errors(404, 409))
async def act_on_bdb(
    principal: BdbEditor,
    session: Tx,
    uid: Uid,
    action: str,
    body: dict[str, Any] | None = None,
    dry_run: DryRun = None,
) -> JSONResponse:
    """`flush` deletes all keys. `reset_admin_pass` gives the shards another password for the console's own user, while they serve.
    The body may be empty."""
    orders = {"flush": service.flush, "reset_admin_pass": bdb_passwords.reset_admin}
    if action not in orders:
        raise NotFound("not_found", f"Databases have no action {action[:64]}; there are {' and '.join(orders)}.")
    bdb = await orders[action](session, uid, principal, dry_run=is_on(dry_run))
    return JSONResponse(await shown(session, bdb, principal))


async def represent(session: Reader, rows: Sequence[Bdb], *, secrets: bool = False) -> list[dict[str, Any]]:
    """Databases as the API and the stream show them."""
    machines, around = await nodes.every(session), await cluster.load(session)
    held = _by_bdb(await (shards.of_bdb(session, rows[0].uid) if len(rows) == 1 else shards.every(session)))
    shown = []
    for bdb in rows:
        action = await actions.by_uid(session, bdb.action_uid) if bdb.action_uid else None
        progress = action.progress if action else None
        shown.append(schema.render(bdb, held.get(bdb.uid, []), machines, around, progress=progress, secrets=secrets))
    return shown


def newest_of(console: Console) -> reshard_previews.Latest:
    """Looks up the newest sample of a shard."""
    return lambda row: console.live.latest(f"shards:{row.bdb_uid}", str(row.uid))


async def shown(session: Reader, bdb: Bdb, principal: Principal) -> dict[str, Any]:
    """One database as this user may see it, in the reply."""
    return _note_secrets(await represent(session, [bdb], secrets=_may_see_secrets(principal)))[0]


def _by_bdb(rows: Iterable[Shard]) -> dict[int, list[Shard]]:
    held: dict[int, list[Shard]] = {}
    for shard in rows:
        held.setdefault(shard.bdb_uid, []).append(shard)
    return held


def _note_secrets(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if any(bdb.get(name) for bdb in shown for name in SECRETS):
        audited.shows_secrets("Passwords, or places of backups with theirs, were shown.")
    return shown


def _may_see_secrets(principal: Principal) -> bool:
    return principal.role in EDITORS
