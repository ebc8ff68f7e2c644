"""Settings, policy and creation of the cluster."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.cluster_settings import merged
from shardboard.domain.cluster.node_status import BootstrapPhase
from shardboard.errors import Conflict, NotAcceptable
from shardboard.schemas.cluster.bootstrap import is_host_name
from shardboard.services.access import authorization
from shardboard.services.access.authorization import Principal
from shardboard.state.access.users import REGULAR, by_email
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as state
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases import bdbs


async def update(session: AsyncSession, changes: Mapping[str, Any], principal: Principal) -> Cluster:
    """Change settings of the cluster."""
    cluster = await state.load_for_update(session)
    if changes:
        cluster.config = merged(cluster.config, changes)
        events.record(
            session,
            "cluster_updated",
            f"Settings of the cluster were changed: {_list(changes)}.",
            originator=principal.username,
        )
    return cluster


async def update_policy(session: AsyncSession, changes: Mapping[str, Any], principal: Principal) -> Cluster:
    """Change the policy of the cluster."""
    cluster = await state.load_for_update(session)
    if changes.get("second_factor_required") and not cluster.rules.second_factor_required:
        await _require_own_second_factor(session, principal)
    if changes.get("rack_aware") is False and cluster.rules.rack_aware:
        await _require_no_rack_aware_database(session)
    if changes:
        cluster.policy = {**cluster.policy, **changes}
        events.record(
            session,
            "cluster_policy_updated",
            f"The policy of the cluster was changed: {_values(changes)}.",
            originator=principal.username,
        )
    return cluster


async def _require_own_second_factor(session: AsyncSession, principal: Principal) -> None:
    """Require that the administrator uses two-factor authentication. Otherwise, the new policy would end their session."""
    user = await by_email(session, principal.username)
    if user is not None and user.auth_method == REGULAR and user.totp_secret is None:
        message = "Set up two-factor authentication for your account first, in the user menu. Otherwise you would be signed out."
        raise NotAcceptable("second_factor_missing", message, field="second_factor_required")


async def _require_no_rack_aware_database(session: AsyncSession) -> None:
    names = [bdb.name for bdb in await bdbs.list_all(session) if bdb.config.get("rack_aware")]
    if names:
        message = f"Databases are rack-aware: {', '.join(names[:5])}. Set rack_aware of these databases to false first."
        raise NotAcceptable("rack_awareness_violation", message, field="rack_aware")


async def restore_policy(session: AsyncSession, principal: Principal) -> Cluster:
    """Set all rules of the policy back to their defaults, including those that the cluster's settings contain."""
    cluster = await state.load_for_update(session)
    changed = state.changed_rules(cluster)
    if cluster.rules.rack_aware:
        await _require_no_rack_aware_database(session)
    if changed:
        cluster.policy = {}
        cluster.config = {name: value for name, value in cluster.config.items() if name not in changed}
        message = f"The policy of the cluster was reset to its defaults: {', '.join(sorted(changed))}."
        events.record(session, "cluster_policy_updated", message, originator=principal.username)
    return cluster


async def create(session: AsyncSession, name: str, username: str, password: str, originator: str) -> Cluster:
    """Name the cluster, and set name and password of its administrator. Possible once, before the first node joins."""
    cluster = await state.load_for_update(session)
    if cluster.bootstrap_state != BootstrapPhase.IDLE:
        raise Conflict("cluster_exists", f"The cluster {cluster.name} already exists.")
    if not is_host_name(name):
        message = (
            "The name of the cluster must be a host name (letters, digits, hyphens and dots) of at most 64 characters."
        )
        raise NotAcceptable("config_error", message, field="cluster.name")
    await authorization.rename_only_admin(session, username)
    await authorization.set_admin(session, username, password, originator=originator)
    cluster.name = name
    cluster.bootstrap_state = BootstrapPhase.COMPLETED
    events.record(
        session, "cluster_created", f"The cluster {name} was created.", source="cluster", originator=originator
    )
    await session.flush()
    return cluster


def record_ignored_license(session: AsyncSession, principal: Principal) -> None:
    """Record that a license key was sent, which has no effect."""
    events.record(
        session,
        "license_updated",
        "A license key was sent. Shardboard needs none and did not store it.",
        originator=principal.username,
    )


def _values(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} is {json.dumps(value)}" for name, value in sorted(changes.items()))


def _list(changes: Mapping[str, Any]) -> str:
    return ", ".join(sorted(changes))
