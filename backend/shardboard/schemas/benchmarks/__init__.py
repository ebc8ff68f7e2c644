"""Request and reply models for benchmark runs and their reports."""
