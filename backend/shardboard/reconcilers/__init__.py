"""Loops that make the machines match the desired state. Each can be killed at any line and run again."""
