"""Reads of metrics and their history."""
