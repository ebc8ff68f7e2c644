"""Single sign-on with OpenID Connect: its provider, and the users that sign in with it.

A single sign-on user has no password in Shardboard. The provider's identifier of the account (issuer and `sub`) is stored at the
first sign-in, so that another account of the provider cannot take over the name. Users with a password never sign in with single
sign-on. Where groups determine roles, they do so at each sign-in.

At least one administrator with a password always remains (`services/users.insist_on_another_admin`), so a wrong configuration
cannot lock out all administrators.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import ca_validation
from shardboard.domain.access import oidc
from shardboard.domain.access.oidc import Provider, SignInAttempt, SignInRefused, SsoIdentity
from shardboard.errors import Forbidden, NotAcceptable, NotFound
from shardboard.services.access import logins, roles_and_acls, tokens
from shardboard.services.access.authorization import Principal
from shardboard.services.access.role_assignments import RoleAssignment, assignment_of
from shardboard.services.access.users import is_display_name
from shardboard.state.access import users
from shardboard.state.access.users import SSO, Password, User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.cluster import Cluster

ATTEMPT_SECONDS = 600
_ORIGINATOR = "single sign-on"
_PURPOSE = "sso"
_PREVIOUS_NAMES = {"then": "return_path"}
"""Names in cookies of the previous release. A sign-in may be in progress while the console is upgraded."""


def provider_of(cluster: Cluster) -> Provider | None:
    """Return the configured provider; None if single sign-on is not configured."""
    if cluster.oidc is None:
        return None
    names = {each.name for each in fields(Provider)}
    settings = {name: value for name, value in cluster.oidc.items() if name in names}
    return Provider(**{**settings, "roles": tuple((group, uid) for group, uid in settings.get("roles", ()))})


async def enabled_provider(session: AsyncSession) -> Provider:
    """Return the provider that users sign in with. Raises NotFound."""
    provider = provider_of(await clusters.load(session))
    if provider is None or not provider.enabled:
        raise NotFound("sso_not_configured", "Single sign-on is not configured.")
    return provider


async def validate(session: AsyncSession, payload: Mapping[str, Any]) -> Provider:
    """Return the provider that a request would configure. Raises an error if it is invalid.

    If the secret is omitted, it remains the same for the same issuer and client.
    """
    previous = provider_of(await clusters.load(session))
    values = dict(payload)
    if values.get("client_secret") is None:
        is_same_provider = previous is not None and (previous.issuer, previous.client_id) == (
            values["issuer"],
            values["client_id"],
        )
        values["client_secret"] = previous.client_secret if is_same_provider and previous is not None else ""
    provider = Provider(**values)
    if error := oidc.issuer_error(provider.issuer):
        raise NotAcceptable("config_error", f"The issuer {error}.", field="issuer")
    if "openid" not in provider.scope.split():
        raise NotAcceptable(
            "config_error",
            "The scope must contain openid; otherwise the provider does not identify users.",
            field="scope",
        )
    if not provider.name.isprintable():
        raise NotAcceptable("config_error", "The name must have printable characters only.", field="name")
    if problem := ca_validation.ca_error(provider.ca):
        raise NotAcceptable("invalid_certificate", f"`ca` {problem}.", field="ca")
    role_uids = {role.uid for role in await roles_and_acls.list_roles(session)}
    for uid in (*(uid for _, uid in provider.roles), provider.default_role_uid):
        if uid is not None and uid not in role_uids:
            raise NotAcceptable("config_error", f"Role {uid} does not exist.", field="roles")
    if len({group for group, _ in provider.roles}) < len(provider.roles):
        raise NotAcceptable(
            "config_error", "A group is listed twice, and only its first role would apply.", field="roles"
        )
    return provider


async def configure(session: AsyncSession, payload: Mapping[str, Any], principal: Principal) -> Provider:
    """Configure the provider for future sign-ins.

    If the provider changes or is disabled, its users are signed out. A new provider has other accounts, so users are identified by
    their names again.
    """
    cluster_row = await clusters.load_for_update(session)
    previous, provider = provider_of(cluster_row), await validate(session, payload)
    cluster_row.oidc = asdict(provider)
    if previous is not None:
        is_same = (provider.issuer, provider.client_id) == (previous.issuer, previous.client_id)
        if not is_same or not provider.enabled:
            await _sign_all_out(session, forgetting=not is_same)
    message = f"Single sign-on with {provider.issuer} was {'configured' if provider.enabled else 'disabled'}."
    events.record(session, "sso_updated", message, source="cluster", originator=principal.username)
    await session.flush()
    return provider


async def remove(session: AsyncSession, principal: Principal) -> None:
    """Remove the provider. Its users remain, but cannot sign in; their links to provider accounts are removed."""
    cluster_row = await clusters.load_for_update(session)
    if cluster_row.oidc is None:
        raise NotFound("sso_not_configured", "Single sign-on is not configured.")
    cluster_row.oidc = None
    await _sign_all_out(session, forgetting=True)
    events.record(
        session, "sso_updated", "Single sign-on was removed.", source="cluster", originator=principal.username
    )


def sign_attempt(cluster: Cluster, attempt: SignInAttempt) -> str:
    """Return the signed state of a sign-in attempt, which the browser keeps in a cookie until it returns."""
    return tokens.sign_content(cluster.jwt_secret, _PURPOSE, asdict(attempt), ATTEMPT_SECONDS)


def read_attempt(cluster: Cluster, cookie: str) -> SignInAttempt:
    """Return the attempt from its cookie. Raises Refused if it is invalid or too old."""
    attempt = tokens.read_content(cluster.jwt_secret, _PURPOSE, cookie)
    if attempt is None:
        message = f"The sign-in took longer than {ATTEMPT_SECONDS // 60} minutes or started in another browser. Sign in again."
        raise SignInRefused("too_late", message)
    return SignInAttempt(**{_PREVIOUS_NAMES.get(name, name): value for name, value in attempt.items()})


async def sign_in(session: AsyncSession, provider: Provider, identity: SsoIdentity, source: str) -> User:
    """Return the user of an identity, created or updated as the groups require. Raises Forbidden."""
    cluster_row = await clusters.load_for_update(session)  # concurrent sign-ins must not create the user twice
    if provider_of(cluster_row) != provider:
        raise Forbidden("too_late", "Single sign-on was changed or disabled during this sign-in. Sign in again.")
    role = await _role(session, provider, identity)
    user = await _find(session, identity)
    if user is None:
        if role is None:
            name = logins.printable_name(identity.username)
            message = f"User {name} does not exist. Ask an administrator to add this user for single sign-on."
            raise Forbidden("no_such_user", message)
        user = _add(session, identity, role)
    elif role is not None and role != assignment_of(user):
        message = f"User {user.email} was changed: the role to {role}, because of single sign-on groups."
        role.assign_to(user)
        events.record(session, "user_updated", message, source="cluster", originator=_ORIGINATOR)
    if identity.name and is_display_name(identity.name):
        user.name = identity.name
    user.last_login = datetime.now(UTC)
    await session.flush()
    message = f"Sign-in succeeded ({user.email}, by single sign-on, from {source})."
    events.record(session, "login", message, source="cluster", originator=user.email)
    return user


async def _role(session: AsyncSession, provider: Provider, identity: SsoIdentity) -> RoleAssignment | None:
    """Return the role from the groups; None if the provider does not determine roles. Raises Forbidden if no group has a role."""
    if not provider.maps_roles:
        return None
    uid = provider.role_uid(identity.groups)
    if uid is None:
        name = logins.printable_name(identity.username)
        message = f"{name} is not a member of any group with a role. {oidc.missing_role_reason(provider, identity)}"
        raise Forbidden("no_role", message)
    return await roles_and_acls.requested_role(session, None, [uid])


async def _find(session: AsyncSession, identity: SsoIdentity) -> User | None:
    user = await users.by_subject(session, identity.subject)
    if user is not None:
        return user
    if not logins.is_login_name(identity.username):
        raise Forbidden(
            "no_user_name", "The username from the provider must have 1 to 254 ASCII characters and no colon."
        )
    user = await users.by_email(session, identity.username)
    if user is None:
        return None
    if user.auth_method != SSO:
        message = (
            f"{user.email} does not use single sign-on. Ask an administrator to change the sign-in method of this user."
        )
        raise Forbidden("local_user", message)
    if user.subject is not None:
        raise Forbidden("other_account", f"{user.email} is linked to another account of the provider.")
    if not identity.is_verified:
        message = f"{user.email} already exists, and the provider has not verified this address for the account."
        raise Forbidden("email_not_verified", message)
    user.subject = identity.subject
    return user


def _add(session: AsyncSession, identity: SsoIdentity, role: RoleAssignment) -> User:
    user = User(
        email=identity.username,
        name=identity.name if is_display_name(identity.name) else "",
        password_hash="",
        role=role.management,
        role_uid=role.uid,
        auth_method=SSO,
        subject=identity.subject,
        other_passwords=[],
        created_at=datetime.now(UTC),
    )
    user.set_passwords([Password("")])
    session.add(user)
    message = f"User {identity.username} was created with the role {role}, by single sign-on."
    events.record(session, "user_created", message, source="cluster", originator=_ORIGINATOR)
    return user


async def sign_out(session: AsyncSession, identity: SsoIdentity) -> None:
    """Sign the user out everywhere, because the provider's groups no longer give the account a role."""
    user = await users.by_subject(session, identity.subject)
    if user is not None:
        user.set_passwords([Password("")])
        message = f"User {user.email} was signed out everywhere, because the groups no longer provide a role."
        events.record(session, "user_updated", message, source="cluster", originator=_ORIGINATOR)


async def _sign_all_out(session: AsyncSession, *, forgetting: bool) -> None:
    for user in await users.list_by_auth_method(session, SSO):
        user.set_passwords([Password("")])
        if forgetting:
            user.subject = None
