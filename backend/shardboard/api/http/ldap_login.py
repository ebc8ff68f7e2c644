"""Authentication of users whose passwords are checked by an LDAP directory."""

import asyncio

from shardboard.api.http.login_throttle import (
    LoginState,
    VerifiedUser,
    get_login_state,
    recheck_logins,
    record_directory_unavailable,
    record_failed_login,
)
from shardboard.console import Console
from shardboard.domain.access.ldap import Ambiguous, Directory, DirectoryUser
from shardboard.domain.access.ldap import DirectoryUnavailable as NoAnswer
from shardboard.errors import Forbidden, Unavailable
from shardboard.net.client_address import source_of
from shardboard.services.access import ldap, logins, passwords
from shardboard.state.access.users import User
from shardboard.state.cluster import cluster
from shardboard.store.db import Store


async def verify_directory_login(
    console: Console, username: str, password: str, source: str, *, bypass_cache: bool
) -> tuple[VerifiedUser | None, bool] | None:
    """Verify a password against the directory.

    Returns the verified user (None: rejected) and whether the directory was queried now, which `bypass_cache` forces. Returns None
    if the directory is not responsible for the username.
    """
    login_state = get_login_state(console.store)
    async with console.store.read() as session:
        directory_user = await ldap.find_directory_and_user(
            session, username, login_state.aliases.get(username.lower())
        )
    if directory_user is None:
        return None
    directory, user = directory_user
    if (
        not bypass_cache
        and user is not None
        and login_state.verifier.is_cached(username, password, _cache_key(directory, user))
    ):
        async with console.store.read() as session:
            must_wait, has_failed = await logins.throttling_state(session, user, source)
        if not must_wait:
            return VerifiedUser(user, user.passwords[0], has_failed), False
    attempt = (username, password, source_of(source))
    return await login_state.verifier.share_concurrent(
        attempt, lambda: _verify(console, login_state, username, password, source)
    ), True


def _cache_key(directory: Directory, user: User) -> str:
    """Return the value that a cached password is bound to."""
    return f"{user.password_id} {directory.cache_ttl}"


async def _verify(
    console: Console, login_state: LoginState, username: str, password: str, source: str
) -> VerifiedUser | None:
    async with login_state.directory.slot(source_of(source)):
        # Read again: while this attempt was queued, other attempts may have exceeded the limit of failures.
        async with console.store.read() as session:
            directory_user = await ldap.find_directory_and_user(
                session, username, login_state.aliases.get(username.lower())
            )
            rules = (await cluster.load(session)).rules
            if directory_user is None:
                return None
            directory, user = directory_user
            must_wait, has_failed = login_state.unknown_user_throttle.is_throttled(username, source), False
            if user is not None:
                must_wait, has_failed = await logins.throttling_state(session, user, source)
        directory_entry = await _query(console, login_state, directory, username, password, source, waits=must_wait)
    if directory_entry is None:
        if user is None and not must_wait:
            login_state.unknown_user_throttle.record_failure(username, source, rules)
        name = user.email if user is not None else username
        await record_failed_login(
            console.store, login_state, name, source, is_counted=user is not None and not must_wait
        )
        return None
    login_state.unknown_user_throttle.clear(username, source)
    user = await _sign_in(console.store, directory, username, directory_entry)
    login_state.add_alias(username, user)
    login_state.verifier.cache_success(username, password, _cache_key(directory, user), directory.cache_ttl)
    return VerifiedUser(user, user.passwords[0], has_failed)


async def _query(
    console: Console,
    login_state: LoginState,
    directory: Directory,
    username: str,
    password: str,
    source: str,
    *,
    waits: bool,
) -> DirectoryUser | None:
    """Query the directory. Returns None for wrong passwords and for throttled attempts: clients must not distinguish them."""
    # The reply takes at least as long as for a user with a local password.
    equalizer = asyncio.create_task(_equalize_time(login_state, password, source))
    try:
        return None if waits else await console.ldap.authenticate(directory, username, password)
    except Ambiguous as reason:
        await record_directory_unavailable(console.store, login_state, str(reason))
        return None
    except NoAnswer as reason:
        await record_directory_unavailable(console.store, login_state, str(reason))
        message = "The LDAP directory does not respond. Try again later. Users with a local password can sign in."
        raise Unavailable("ldap_unavailable", message) from reason
    finally:
        await equalizer  # raises for both kinds of users if too many attempts are queued


async def _equalize_time(login_state: LoginState, password: str, source: str) -> None:
    async with login_state.verifier.slot(source_of(source)):
        await passwords.find_matching_hash(password, ())


async def _sign_in(store: Store, directory: Directory, username: str, directory_user: DirectoryUser) -> User:
    async with store.read() as session:
        user = await ldap.find_unchanged_user(session, directory, directory_user)
    if user is not None:
        return user
    try:
        async with store.begin() as session:
            user = await ldap.sign_in(session, directory, username, directory_user)
    except Forbidden as refusal:
        if refusal.code == "no_role":
            await _sign_out(store, directory_user)
        raise
    recheck_logins(store)  # the role may have changed
    return user


async def _sign_out(store: Store, directory_user: DirectoryUser) -> None:
    """Sign the user out. Does nothing if that has been done, since a program can repeat its requests without a role."""
    async with store.read() as session:
        if await ldap.find_user_with_role(session, directory_user) is None:
            return
    async with store.begin() as session:
        await ldap.sign_out(session, directory_user)
    recheck_logins(store)
