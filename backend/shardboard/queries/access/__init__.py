"""Reads of users, roles, logins and the audit log."""
