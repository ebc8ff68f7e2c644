"""Loops and action steps for shard placement, movement and resharding."""
