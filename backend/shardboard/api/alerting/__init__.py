"""Endpoints for alarms, events and notifications."""
