"""Requests for backups, restores and imports, and their storage locations."""
