"""Request and reply models for alarms, events and notifications."""
