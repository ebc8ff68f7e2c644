"""Transfers of data between shards of this node and locations."""
