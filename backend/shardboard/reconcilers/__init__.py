"""Loops that make the machines match desired state. Any of them may be killed at any line and run again."""
