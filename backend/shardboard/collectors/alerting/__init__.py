"""Loops that observe alarms, events and notifications."""
