"""Planning and queueing of shard moves and resharding."""
