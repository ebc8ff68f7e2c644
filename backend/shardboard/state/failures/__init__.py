"""Tables for node failures, failover, incidents and drills."""
