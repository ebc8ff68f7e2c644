"""Carrying out movements of shards: copies, handovers, removals; every kind of movement is a list of moves in an action."""
