"""Endpoints for databases, shards and endpoints."""
