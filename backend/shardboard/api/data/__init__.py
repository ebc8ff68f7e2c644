"""Endpoints for backups, restores and imports."""

from shardboard.api.data import analyses, backup_schedules, backups, exports, locations, restores, verifications

ROUTERS = (
    analyses.router,
    backup_schedules.router,
    backups.router,
    exports.router,
    locations.router,
    restores.router,
    verifications.router,
)
