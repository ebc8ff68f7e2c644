"""Request and reply models for node failures, failover, incidents and drills."""
