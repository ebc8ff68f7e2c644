"""Decisions about shard placement, movement and resharding."""
