"""Middleware around all routes."""
