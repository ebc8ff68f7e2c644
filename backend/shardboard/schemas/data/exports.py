"""Requests for exports and imports, in the format of the Redis Enterprise REST API."""

from typing import Any

from pydantic import Field

from shardboard.kit.age_keys import MAX_KEYS
from shardboard.schemas.data.locations import RECIPIENTS, PrivateKeys, PublicKey
from shardboard.schemas.data.requests import DataRequest, OptionalUid


class ExportRequest(DataRequest):
    export_location: dict[str, Any] = Field(
        description="Location in the format of `backup_location`: `type` and its fields.",
        examples=[{"type": "mount_point", "path": "/srv/exports"}],
    )
    recipients: list[PublicKey] = Field(default=[], max_length=MAX_KEYS, description=RECIPIENTS)
    email_notification: bool = Field(default=False, description="Ignored; add a webhook for notifications.")


class InspectRequest(DataRequest):
    dataset_import_sources: list[dict[str, Any]] = Field(
        default=[],
        description="Locations with `filename`, or with the file as the last part of `path`, `url` or `sftp_url`. If empty, "
        "the field of the database is used.",
        examples=[[{"type": "mount_point", "path": "/srv/exports/dump.rdb"}]],
    )
    identities: PrivateKeys = Field(
        default="",
        description="Private keys of encrypted files (`AGE-SECRET-KEY-1…`), one per line. Deleted at the end of the action.",
    )


class ImportRequest(InspectRequest):
    inspection_uid: OptionalUid
    accept_losses: bool = Field(
        default=False,
        description="Import even if the inspection found keys that cannot be imported. Without `inspection_uid`, such keys are "
        "always skipped and counted.",
    )
    force: bool = Field(
        default=False,
        description="Import even if the keys need more memory than the database has. Requires an eviction policy "
        "`allkeys-…`.",
    )
    email_notification: bool = Field(default=False, description="Ignored; add a webhook for notifications.")
