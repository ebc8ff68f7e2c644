"""Loops that observe databases, shards and endpoints."""
