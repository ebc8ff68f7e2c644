"""The node agent: supervises the shards of one node, samples them and reports on the machine.

It has no database and makes no decisions.
"""
