"""Models of storage locations, backups, restores and imports."""
