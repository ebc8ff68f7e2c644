"""Transfers of data between shards and storage locations."""
