"""Simulation of large clusters: a real console, and agents that simulate their machines and shards."""
