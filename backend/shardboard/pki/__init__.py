"""Certificates: console CA, shard CAs, keys and TLS contexts."""
