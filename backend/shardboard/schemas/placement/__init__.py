"""Request and reply models for shard placement, movement and resharding."""
