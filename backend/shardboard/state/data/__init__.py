"""Tables of storage locations, backups, restores and their transfers."""
