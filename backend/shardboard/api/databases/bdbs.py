"""Endpoints of databases."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fastapi import Depends, Query
from fastapi.responses import JSONResponse

from shardboard.api.http import audit_middleware
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbEditor, BdbViewer
from shardboard.api.http.dependencies import ConsoleDep, Editor, Principal, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import TOTAL_HEADER, FieldSelection, ListQuery, fields_of, list_query_of
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import DryRun, Uid, is_flag_set
from shardboard.api.http.waiting import current_object
from shardboard.console import Console
from shardboard.errors import NotFound
from shardboard.queries.data import last_operations
from shardboard.schemas.databases import bdbs as schema
from shardboard.schemas.databases.bdb_fields import SECRETS
from shardboard.schemas.databases.bdb_requests import BdbCreate, BdbUpdate
from shardboard.schemas.unknown_fields import NoFields
from shardboard.services.access.authorization import EDITORS
from shardboard.services.databases import bdb_passwords
from shardboard.services.databases import bdbs as service
from shardboard.services.placement import resharding_preview
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import StoredCondition

router = ApiRouter(prefix="/v1", tags=["databases"])


async def _allow_duplicate_name(
    flag: Annotated[
        str | None,
        Query(
            alias="allow_duplicate_name",
            description="Accept a name that another database already has (extension). `?allow_duplicate_name` alone means true.",
            examples=["true"],
        ),
    ] = None,
) -> bool:
    return is_flag_set(flag, "allow_duplicate_name")


AllowDuplicateName = Annotated[bool, Depends(_allow_duplicate_name)]
BdbList = Annotated[ListQuery, Depends(list_query_of(schema.Bdb))]
BdbFields = Annotated[FieldSelection, Depends(fields_of(schema.Bdb))]
Extended = Annotated[
    str | None, Query(description="Accepted without effect: databases have no settings of modules.", examples=["true"])
]


@router.get("/bdbs", response_model=list[schema.Bdb], responses=error_responses())
async def list_bdbs(
    principal: AnyViewer, session: ReadSession, query: BdbList, extended: Extended = None
) -> JSONResponse:
    """Return all databases that the user can access."""
    rows = [bdb for bdb in await bdbs.list_all(session) if principal.can_access_database(bdb.uid)]
    rendered_bdbs = await render_bdbs(session, rows, secrets=_may_see_secrets(principal))
    found, total = query.select(rendered_bdbs)
    return JSONResponse(_record_secrets(found), headers={TOTAL_HEADER: str(total)})


@router.post("/bdbs", response_model=schema.Bdb, responses=error_responses(406, 409))
async def create_bdb(
    principal: Editor,
    session: WriteSession,
    body: BdbCreate,
    dry_run: DryRun,
    allow_duplicate_name: AllowDuplicateName,
) -> JSONResponse:
    """Create a database. The response contains the `status` `pending` and the `action_uid` to poll. The response to a
    dry run contains the planned placement of the shards in `shards_blueprint`. Required role: `admin`,
    `cluster_member`, or `db_member`, not limited to some databases.
    """
    bdb, rows = await service.create(
        session, body.writable_fields(), principal, dry_run=dry_run, allow_duplicate_name=allow_duplicate_name
    )
    rendered_bdb = schema.render(
        bdb, rows, await nodes.list_all(session), await cluster.load(session), progress=0.0, secrets=True
    )
    _record_secrets([rendered_bdb])
    return JSONResponse({**rendered_bdb, "shards_blueprint": schema.blueprint(rows)} if dry_run else rendered_bdb)


@router.get("/bdbs/{uid}", response_model=schema.Bdb, responses=error_responses(404))
async def get_bdb(
    principal: BdbViewer, session: ReadSession, uid: Uid, fields: BdbFields, extended: Extended = None
) -> JSONResponse:
    """Return a database."""
    rendered = await render_bdbs(session, [await get_bdb_or_404(session, uid)], secrets=_may_see_secrets(principal))
    return JSONResponse(_record_secrets([fields.apply(rendered[0])])[0])


@router.put("/bdbs/{uid}", response_model=schema.Bdb, responses=error_responses(404, 406, 409))
async def update_bdb(
    principal: BdbEditor,
    session: WriteSession,
    console: ConsoleDep,
    uid: Uid,
    body: BdbUpdate,
    dry_run: DryRun,
    allow_duplicate_name: AllowDuplicateName,
) -> JSONResponse:
    """Change a database. The request can contain the changed fields only, or the complete object.

    Unchanged fields are ignored. If nothing differs, no action starts. The response to a dry run that changes
    `shards_count` contains the estimated cost in `reshard_preview`. Required role: `admin`, `cluster_member`, or
    `db_member`.
    """
    bdb, plan = await service.update(
        session, uid, body.writable_fields(), principal, dry_run=dry_run, allow_duplicate_name=allow_duplicate_name
    )
    reply = await render_bdb(session, bdb, principal)
    if dry_run and plan is not None:
        reply["reshard_preview"] = await resharding_preview.preview(session, bdb, plan, shard_sample_lookup(console))
    return JSONResponse(reply)


@router.delete("/bdbs/{uid}", response_model=schema.Bdb, responses=error_responses(404, 409))
async def delete_bdb(principal: BdbEditor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Delete a database with all its data.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return JSONResponse(await render_bdb(session, await service.delete(session, uid, principal), principal))


@router.put(
    "/bdbs/{uid}/{action}",
    summary="Flush database or replace admin password",
    response_model=schema.Bdb,
    responses=error_responses(404, 409),
)
async def act_on_bdb(
    principal: BdbEditor,
    session: WriteSession,
    uid: Uid,
    action: str,
    dry_run: DryRun,
    body: NoFields | None = None,
) -> JSONResponse:
    """Run an action on a database: `flush` deletes all keys; `reset_admin_pass` replaces the internal password of the shards.

    The shards stay available while their password is replaced. The body can be empty. Required role: `admin`,
    `cluster_member`, or `db_member`.
    """
    handlers = {"flush": service.flush, "reset_admin_pass": bdb_passwords.reset_admin_password}
    if action not in handlers:
        raise NotFound("not_found", f"Databases do not have the action {action[:64]}. Use {' or '.join(handlers)}.")
    bdb = await handlers[action](session, uid, principal, dry_run=dry_run)
    return JSONResponse(await render_bdb(session, bdb, principal))


async def render_bdbs(session: ReadSession, rows: Sequence[Bdb], *, secrets: bool = False) -> list[dict[str, Any]]:
    """Return databases in the format of the API and the event stream."""
    machines, cluster_row = await nodes.list_all(session), await cluster.load(session)
    shards_by_bdb = _by_bdb(await shards.list_conditions(session, bdb_uid=rows[0].uid if len(rows) == 1 else None))
    operations = await last_operations.fields_by_bdb(session, [bdb.uid for bdb in rows])
    rendered_bdbs = []
    for bdb in rows:
        action = await actions.by_uid(session, bdb.action_uid) if bdb.action_uid else None
        progress = action.progress if action else None
        rendered_bdbs.append(
            schema.render(
                bdb,
                shards_by_bdb.get(bdb.uid, []),
                machines,
                cluster_row,
                progress=progress,
                secrets=secrets,
                operations=operations[bdb.uid],
            )
        )
    return rendered_bdbs


def shard_sample_lookup(console: Console) -> resharding_preview.LatestShardSample:
    """Return a function that returns the newest sample of a shard."""
    return lambda row: console.live.latest(f"shards:{row.bdb_uid}", str(row.uid))


@current_object(schema.Bdb)
async def _current_bdb(console: Console, principal: Principal, shown: dict[str, Any]) -> dict[str, Any] | None:
    async with console.store.read() as session:
        bdb = await bdbs.by_uid(session, shown["uid"])
        return await render_bdb(session, bdb, principal) if bdb is not None else None


async def render_bdb(session: ReadSession, bdb: Bdb, principal: Principal) -> dict[str, Any]:
    """Return a database in the format of the API, with secrets if the user is allowed to see them, and audit that."""
    return _record_secrets(await render_bdbs(session, [bdb], secrets=_may_see_secrets(principal)))[0]


def _by_bdb(rows: Iterable[StoredCondition]) -> dict[int, list[StoredCondition]]:
    shards_by_bdb: dict[int, list[StoredCondition]] = {}
    for shard in rows:
        shards_by_bdb.setdefault(shard.bdb_uid, []).append(shard)
    return shards_by_bdb


def _record_secrets(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if any(bdb.get(name) for bdb in shown for name in SECRETS):
        audit_middleware.record_secret_access(
            "The response contained database passwords or backup locations with credentials."
        )
    return shown


def _may_see_secrets(principal: Principal) -> bool:
    return principal.role in EDITORS
