"""Rules for users, roles, passwords and directories, and the chain of the audit log."""
