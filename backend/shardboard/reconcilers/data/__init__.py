"""Steps of backups, restores and imports, and the removal of what they leave behind."""
