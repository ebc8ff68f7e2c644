"""Resharding: change of a database's number of pairs while it serves requests."""
