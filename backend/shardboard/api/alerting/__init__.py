"""Endpoints for alarms, events and notifications."""

from shardboard.api.alerting import alarms, alerts, events, webhooks

ROUTERS = (
    alarms.router,
    alerts.router,
    events.router,
    webhooks.router,
)
