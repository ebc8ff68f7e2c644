"""Execution of shard moves: copies, planned failovers, removals. Each kind of movement is a list of moves in an action."""
