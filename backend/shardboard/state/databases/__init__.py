"""Tables for databases, shards and endpoints."""
