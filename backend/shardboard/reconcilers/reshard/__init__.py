"""Changing the number of pairs of a database while it serves."""
