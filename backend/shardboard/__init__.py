"""Shardboard: a management console for sharded, replicated databases on stock Valkey Cluster."""

__version__ = "0.1.0"
