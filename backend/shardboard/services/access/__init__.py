"""Changes to users, roles, logins and the audit log."""
