"""Processes of shards and of the proxy."""
