"""Loops that observe and record. They never change the desired state."""
