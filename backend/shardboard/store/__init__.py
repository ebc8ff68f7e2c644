"""Transactions of the SQL store, encrypted columns and transient errors."""
