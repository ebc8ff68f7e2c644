"""Endpoints for users, roles, logins and the audit log."""

from shardboard.api.access import (
    audit,
    device_logins,
    handovers,
    ldap,
    ldap_mappings,
    logins,
    redis_acls,
    roles,
    service_tokens,
    services_configuration,
    sessions,
    sso,
    two_factor,
    users,
)

ROUTERS = (
    audit.router,
    device_logins.router,
    handovers.router,
    ldap.router,
    ldap_mappings.router,
    logins.router,
    redis_acls.router,
    roles.router,
    service_tokens.router,
    services_configuration.router,
    sessions.router,
    sso.router,
    two_factor.router,
    users.router,
)
