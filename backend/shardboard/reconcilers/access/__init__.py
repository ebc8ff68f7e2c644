"""Distribution of users to shards."""
