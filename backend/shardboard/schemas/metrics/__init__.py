"""Request and reply models for metrics and their history."""
