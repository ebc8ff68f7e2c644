"""Changes to node failures, failover, incidents and drills."""
