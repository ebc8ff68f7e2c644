"""Endpoints for users, roles, logins and the audit log."""

from shardboard.api.access import (
    audit,
    handovers,
    ldap,
    ldap_mappings,
    logins,
    redis_acls,
    roles,
    service_tokens,
    sessions,
    sso,
    two_factor,
    users,
)

ROUTERS = (
    audit.router,
    handovers.router,
    ldap.router,
    ldap_mappings.router,
    logins.router,
    redis_acls.router,
    roles.router,
    service_tokens.router,
    sessions.router,
    sso.router,
    two_factor.router,
    users.router,
)
