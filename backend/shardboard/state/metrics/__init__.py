"""Tables for metrics and their history."""
