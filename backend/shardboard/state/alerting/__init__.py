"""Tables for alarms, events and notifications."""
