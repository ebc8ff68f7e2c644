"""Single sign-on: its provider, and the users that it vouches for.

A user of single sign-on has no password here. The provider's word for who somebody is (issuer and `sub`) is kept with the user at
the first sign-in, so that the name cannot be taken over by another account of the provider; users with a password are never
signed in by it. Where groups give roles, they do so at every sign-in.

There is always an administrator with a password (`services/users.insist_on_another_admin`), so that what is done here locks
nobody out for good.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import oidc, trusted
from shardboard.domain.oidc import Attempt, Identity, Provider, Refused
from shardboard.errors import Forbidden, NotAcceptable, NotFound
from shardboard.services import access, logins, tokens
from shardboard.services.user_accounts import GivenRole, is_name
from shardboard.services.users import Principal
from shardboard.state import cluster as clusters
from shardboard.state import events, users
from shardboard.state.cluster import Cluster
from shardboard.state.users import SSO, Password, User

ATTEMPT_SECONDS = 600
_ORIGINATOR = "single sign-on"
_USE = "sso"


def provider_of(here: Cluster) -> Provider | None:
    """As it was set; None: there is no single sign-on."""
    if here.oidc is None:
        return None
    known = {each.name for each in fields(Provider)}
    kept = {name: value for name, value in here.oidc.items() if name in known}
    return Provider(**{**kept, "roles": tuple((group, uid) for group, uid in kept.get("roles", ()))})


async def enabled_provider(session: AsyncSession) -> Provider:
    """That people sign in by. Raises NotFound."""
    provider = provider_of(await clusters.load(session))
    if provider is None or not provider.enabled:
        raise NotFound("sso_not_configured", "There is no single sign-on.")
    return provider


async def examine(session: AsyncSession, given: Mapping[str, Any]) -> Provider:
    """What an order would make; raises what is wrong with it. A secret that is left out stays, for the same issuer and client."""
    before = provider_of(await clusters.load(session))
    values = dict(given)
    if values.get("client_secret") is None:
        same = before is not None and (before.issuer, before.client_id) == (values["issuer"], values["client_id"])
        values["client_secret"] = before.client_secret if same and before is not None else ""
    provider = Provider(**values)
    if fault := oidc.issuer_fault(provider.issuer):
        raise NotAcceptable("config_error", f"The issuer {fault}.", field="issuer")
    if "openid" not in provider.scope.split():
        raise NotAcceptable(
            "config_error", "The scope needs openid in it, or the provider vouches for nobody.", field="scope"
        )
    if not provider.name.isprintable():
        raise NotAcceptable("config_error", "The name has printable characters only.", field="name")
    if what := trusted.ca_fault(provider.ca):
        raise NotAcceptable("invalid_certificate", f"What is to be trusted {what}.", field="ca")
    known = {role.uid for role in await access.every_role(session)}
    for uid in (*(uid for _, uid in provider.roles), provider.default_role_uid):
        if uid is not None and uid not in known:
            raise NotAcceptable("config_error", f"There is no role {uid}.", field="roles")
    if len({group for group, _ in provider.roles}) < len(provider.roles):
        raise NotAcceptable("config_error", "A group is named twice; its first role would count.", field="roles")
    return provider


async def configure(session: AsyncSession, given: Mapping[str, Any], by: Principal) -> Provider:
    """From the next sign-in on. Who came by another provider, or by one that is switched off, is signed out. Another one has other
    accounts: users are recognized by their names once more."""
    here = await clusters.load_for_update(session)
    before, provider = provider_of(here), await examine(session, given)
    here.oidc = asdict(provider)
    if before is not None:
        is_same = (provider.issuer, provider.client_id) == (before.issuer, before.client_id)
        if not is_same or not provider.enabled:
            await _sign_all_out(session, forgetting=not is_same)
    told = f"Single sign-on by {provider.issuer} was {'set' if provider.enabled else 'switched off'}."
    events.record(session, "sso_updated", told, source="cluster", originator=by.username)
    await session.flush()
    return provider


async def remove(session: AsyncSession, by: Principal) -> None:
    """Its users stay, and cannot sign in; their accounts are forgotten."""
    here = await clusters.load_for_update(session)
    if here.oidc is None:
        raise NotFound("sso_not_configured", "There is no single sign-on.")
    here.oidc = None
    await _sign_all_out(session, forgetting=True)
    events.record(session, "sso_updated", "Single sign-on was removed.", source="cluster", originator=by.username)


def seal(here: Cluster, attempt: Attempt) -> str:
    """What the browser keeps of an attempt, in a cookie, until it comes back. Nobody else makes one."""
    return tokens.seal(here.jwt_secret, _USE, asdict(attempt), ATTEMPT_SECONDS)


def unseal(here: Cluster, cookie: str) -> Attempt:
    """Raises Refused for what is none, or too old."""
    kept = tokens.unseal(here.jwt_secret, _USE, cookie)
    if kept is None:
        sentence = f"The sign-in took longer than {ATTEMPT_SECONDS // 60} minutes, or was begun in another browser; begin again."
        raise Refused("too_late", sentence)
    return Attempt(**kept)


async def sign_in(session: AsyncSession, provider: Provider, who: Identity, source: str) -> User:
    """The user that this is, made or changed as the groups say. Raises Forbidden."""
    here = await clusters.load_for_update(session)  # two who come at once are not made twice
    if provider_of(here) != provider:
        raise Forbidden("too_late", "Single sign-on was changed or switched off meanwhile; begin again.")
    role = await _role(session, provider, who)
    user = await _find(session, who)
    if user is None:
        if role is None:
            sentence = f"{logins.shown(who.username)} is no user here; an administrator adds users of single sign-on."
            raise Forbidden("no_such_user", sentence)
        user = _add(session, who, role)
    elif role is not None and role != GivenRole(user.role, user.role_uid):
        told = f"User {user.email} was changed: the role to {role}, by the groups of single sign-on."
        user.role, user.role_uid = role.management, role.uid
        events.record(session, "user_updated", told, source="cluster", originator=_ORIGINATOR)
    if who.name and is_name(who.name):
        user.name = who.name
    user.last_login = datetime.now(UTC)
    await session.flush()
    told = f"Login succeeded ({user.email}, by single sign-on, from {source})."
    events.record(session, "login", told, source="cluster", originator=user.email)
    return user


async def _role(session: AsyncSession, provider: Provider, who: Identity) -> GivenRole | None:
    """None where roles are given here. Raises Forbidden for who is in none of the groups."""
    if not provider.gives_roles:
        return None
    uid = provider.role_uid(who.groups)
    if uid is None:
        sentence = f"{logins.shown(who.username)} is in no group that has a role here; whoever manages the groups can change that."
        raise Forbidden("no_role", sentence)
    return await access.chosen(session, None, [uid])


async def _find(session: AsyncSession, who: Identity) -> User | None:
    user = await users.by_subject(session, who.subject)
    if user is not None:
        return user
    if not logins.is_login_name(who.username):
        raise Forbidden(
            "no_user_name", "The provider's name for this user is not 1 to 254 ASCII characters without a colon."
        )
    user = await users.by_email(session, who.username)
    if user is None:
        return None
    if user.auth_method != SSO:
        sentence = (
            f"{user.email} does not sign in by single sign-on; an administrator can change that to single sign-on."
        )
        raise Forbidden("local_user", sentence)
    if user.subject is not None:
        raise Forbidden("other_account", f"{user.email} belongs to another account of the provider.")
    if not who.is_verified:
        sentence = f"{user.email} was added before, and the provider does not say that it has verified this address."
        raise Forbidden("email_not_verified", sentence)
    user.subject = who.subject
    return user


def _add(session: AsyncSession, who: Identity, role: GivenRole) -> User:
    user = User(
        email=who.username,
        name=who.name if is_name(who.name) else "",
        password_hash="",
        role=role.management,
        role_uid=role.uid,
        auth_method=SSO,
        subject=who.subject,
        other_passwords=[],
        created_at=datetime.now(UTC),
    )
    user.keep([Password("")])
    session.add(user)
    told = f"User {who.username} was created with the role {role}, by single sign-on."
    events.record(session, "user_created", told, source="cluster", originator=_ORIGINATOR)
    return user


async def sign_out(session: AsyncSession, who: Identity) -> None:
    """Everywhere: the provider gives that account no role any more."""
    user = await users.by_subject(session, who.subject)
    if user is not None:
        user.keep([Password("")])
        told = f"User {user.email} was signed out everywhere: no group gives a role any more."
        events.record(session, "user_updated", told, source="cluster", originator=_ORIGINATOR)


async def _sign_all_out(session: AsyncSession, *, forgetting: bool) -> None:
    for user in await users.of_method(session, SSO):
        user.keep([Password("")])
        if forgetting:
            user.subject = None
