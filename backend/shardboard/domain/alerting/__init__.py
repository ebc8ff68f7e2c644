"""Decisions about alarms, events and notifications."""
