"""Requests for exports and imports, in the format of the Redis Enterprise REST API."""

from typing import Any

from pydantic import Field

from shardboard.kit.age_keys import MAX_KEYS
from shardboard.schemas.data.locations import RECIPIENTS, PrivateKeys, PublicKey
from shardboard.schemas.data.requests import DataRequest


class ExportRequest(DataRequest):
    export_location: dict[str, Any] = Field(
        description="Location in the format of `backup_location`: `type`, and the fields of this type.",
        examples=[{"type": "mount_point", "path": "/srv/exports"}],
    )
    recipients: list[PublicKey] = Field(default=[], max_length=MAX_KEYS, description=RECIPIENTS)
    email_notification: bool = Field(default=False, description="Ignored; add a webhook for notifications.")


class ImportRequest(DataRequest):
    dataset_import_sources: list[dict[str, Any]] = Field(
        default=[],
        description="Locations with `filename`, or with the file as the last part of `path`, `url` or `sftp_url`. Empty: those of "
        "the field of the database.",
        examples=[[{"type": "mount_point", "path": "/srv/exports/dump.rdb"}]],
    )
    identities: PrivateKeys = Field(
        default="",
        description="Private keys of encrypted files (`AGE-SECRET-KEY-1…`), one a line. Deleted when the import ends.",
    )
    email_notification: bool = Field(default=False, description="Ignored; add a webhook for notifications.")
