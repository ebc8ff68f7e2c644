"""Moving hash slots between shards."""
