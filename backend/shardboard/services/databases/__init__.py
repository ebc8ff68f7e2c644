"""Changes to databases, shards and endpoints."""
