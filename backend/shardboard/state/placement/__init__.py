"""Tables for shard placement, movement and resharding."""
