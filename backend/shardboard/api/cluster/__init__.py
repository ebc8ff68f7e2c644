"""Endpoints for the cluster, its nodes, certificates and operations."""

from shardboard.api.cluster import (
    actions,
    bootstrap,
    certificates,
    cluster,
    console_backups,
    console_ca,
    consoles,
    host_checks,
    join,
    json_schemas,
    license,  # noqa: A004 - name in the Redis Enterprise REST API
    node_actions,
    node_checks,
    nodes,
    support_bundle,
    unsupported_features,
    usage_report,
)

ROUTERS = (
    actions.router,
    actions.router_v2,
    bootstrap.router,
    certificates.router,
    cluster.router,
    console_backups.router,
    console_ca.router,
    consoles.router,
    host_checks.router,
    join.router,
    json_schemas.router,
    license.router,
    node_actions.router,
    node_checks.router,
    nodes.router,
    support_bundle.router,
    unsupported_features.router,
    usage_report.router,
)
