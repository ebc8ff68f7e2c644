"""Changes to alarms, events and notifications."""
