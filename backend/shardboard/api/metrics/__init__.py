"""Endpoints for metrics and their history."""

from shardboard.api.metrics import (
    command_stats,
    hot_slots,
    latency_heatmap,
    metric_history,
    prometheus,
    ram_curve,
    stats,
)

ROUTERS = (
    command_stats.router,
    hot_slots.router,
    latency_heatmap.router,
    metric_history.router,
    prometheus.router,
    ram_curve.router,
    stats.router,
)
