"""Decisions about databases, shards and endpoints."""
