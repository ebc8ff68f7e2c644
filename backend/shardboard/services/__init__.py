"""Writes: one function is one user intention in one transaction, which the edge commits."""
