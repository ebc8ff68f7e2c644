"""Verification of backups."""
