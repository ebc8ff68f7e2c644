"""Decisions about backups, restores and imports: plans, manifests, names of files."""
