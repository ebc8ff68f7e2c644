"""Reads of node failures, failover, incidents and drills."""
