"""Endpoints for node failures, failover, incidents and drills."""
