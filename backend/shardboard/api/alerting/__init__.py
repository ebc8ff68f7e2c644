"""Endpoints for alarms, events and notifications."""

from shardboard.api.alerting import alerts, events, webhooks

ROUTERS = (
    alerts.router,
    events.router,
    webhooks.router,
)
