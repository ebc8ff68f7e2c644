"""Loops that observe node failures, failover, incidents and drills."""
