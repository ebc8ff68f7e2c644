"""The program that runs one transfer: it copies data between shards of its node and a location."""
