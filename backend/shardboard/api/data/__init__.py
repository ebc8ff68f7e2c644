"""Endpoints for backups, restores and imports."""

from shardboard.api.data import (
    analyses,
    backup_schedules,
    backups,
    downloads,
    exports,
    locations,
    restores,
    uploads,
    verifications,
)

ROUTERS = (
    analyses.router,
    backup_schedules.router,
    backups.router,
    downloads.router,
    exports.router,
    locations.router,
    restores.router,
    uploads.router,
    verifications.router,
)
