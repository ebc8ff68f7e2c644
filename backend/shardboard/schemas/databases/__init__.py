"""Request and reply models for databases, shards and endpoints."""
