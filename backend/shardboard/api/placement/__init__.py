"""Endpoints for shard placement, movement and resharding."""
