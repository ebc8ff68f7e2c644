"""Endpoints for benchmark runs and their reports."""
