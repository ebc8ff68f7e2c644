"""Fault injection for drills."""
