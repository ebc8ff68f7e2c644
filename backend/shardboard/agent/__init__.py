"""The node agent: supervises the shards of one node, samples them and reports on the machine. It makes no decisions."""
