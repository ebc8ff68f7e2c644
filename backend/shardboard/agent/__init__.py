"""The agent: supervises the shards of one node, samples them and reports the machine. No database, no decisions."""
