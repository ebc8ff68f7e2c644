"""Endpoint for verifications of backups."""

from fastapi.responses import JSONResponse

from shardboard.actions import verifications
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BackupEditor
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import Uid
from shardboard.schemas.data import backups as schema
from shardboard.services.data import backups
from shardboard.state.cluster import cluster as clusters

router = ApiRouter(prefix="/v1", tags=["backups"])


@router.post(
    "/backups/{uid}/actions/verify",
    summary="Verify backup",
    response_model=schema.StartedVerification,
    responses=error_responses(404, 406, 409),
)
async def verify_backup(editor: BackupEditor, session: WriteSession, uid: Uid) -> JSONResponse:
    """Restore a backup into a temporary database, and compare the keys with the manifest.

    The temporary database is named `verification-of-backup-` and the uid, and has no open port. It needs as much memory as one
    copy of the data, and is deleted afterwards. If the backup is encrypted and its private key is not stored, nothing is restored:
    the checksums of its files and of its manifest are compared. `verified` of the backup contains the result and the `method`.
    Returns 409 while it is verified.
    Required role: `admin`, `cluster_member` or `db_member`.
    """
    await clusters.load_for_update(session)
    backup = await backups.get_backup(session, uid)
    action = await verifications.queue_verification(session, backup, editor.username)
    return JSONResponse({"action_uid": action.uid})
