"""Request and reply models for users, roles, logins and the audit log."""
