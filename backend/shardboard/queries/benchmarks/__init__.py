"""Reads of benchmark runs and their reports."""
