"""Reads about backups, exports and imports."""
