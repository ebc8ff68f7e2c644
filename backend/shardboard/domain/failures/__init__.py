"""Decisions about node failures, failover, incidents and drills."""
