"""Exclusive use of the store, and supervision of the loops."""
