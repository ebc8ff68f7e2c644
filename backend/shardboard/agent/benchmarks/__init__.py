"""Load generators of benchmark runs on this node."""
