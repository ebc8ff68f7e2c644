"""Tables for benchmark runs and their reports."""
