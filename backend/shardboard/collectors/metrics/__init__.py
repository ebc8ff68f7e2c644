"""Loops that observe metrics and their history."""
