"""Loops and action steps for databases, shards and endpoints."""
