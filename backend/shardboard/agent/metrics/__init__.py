"""Samples of shards and of the machine."""
