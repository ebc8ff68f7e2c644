"""Endpoints for users, roles, logins and the audit log."""
