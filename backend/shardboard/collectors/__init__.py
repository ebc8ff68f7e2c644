"""Loops that look and record. They never change desired state."""
