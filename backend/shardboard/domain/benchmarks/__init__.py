"""Decisions about benchmark runs and their reports."""
