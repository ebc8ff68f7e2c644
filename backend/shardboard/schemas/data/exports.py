"""Requests for exports and imports, in the format of the Redis Enterprise REST API."""

from typing import Any

from pydantic import Field

from shardboard.schemas.data.requests import DataRequest


class ExportRequest(DataRequest):
    export_location: dict[str, Any] = Field(
        description="Location in the format of `backup_location`: `type`, and the fields of this type.",
        examples=[{"type": "mount_point", "path": "/srv/exports"}],
    )
    email_notification: bool = Field(default=False, description="Ignored; add a webhook for notifications.")


class ImportRequest(DataRequest):
    dataset_import_sources: list[dict[str, Any]] = Field(
        default=[],
        description="Locations with `filename`, or with the file as the last part of `path`, `url` or `sftp_url`. Empty: those of "
        "the field of the database.",
        examples=[[{"type": "mount_point", "path": "/srv/exports/dump.rdb"}]],
    )
    email_notification: bool = Field(default=False, description="Ignored; add a webhook for notifications.")
