"""Tables of users, roles, sessions and the audit log."""
