"""Endpoints for metrics and their history."""
