"""Writes: each function carries out one user intention in one transaction, which the API layer commits."""
