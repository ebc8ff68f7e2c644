"""Loops and action steps for node failures, failover, incidents and drills."""
