"""Authentication of users whose passwords are checked by an LDAP directory."""

import asyncio

from shardboard.api.gate import Gate, Verified, gate, look_again, note_failure, note_unavailable
from shardboard.console import Console
from shardboard.db import Store
from shardboard.domain.ldap import Ambiguous, Directory, Person
from shardboard.domain.ldap import Unavailable as NoAnswer
from shardboard.errors import Forbidden, Unavailable
from shardboard.origins import place
from shardboard.services import ldap, logins, passwords
from shardboard.state import cluster
from shardboard.state.users import User


async def log_in(
    console: Console, username: str, password: str, source: str, *, anew: bool
) -> tuple[Verified | None, bool] | None:
    """Verify a password against the directory.

    Returns the verified user (None: rejected) and whether the directory was queried now, which `anew` forces. Returns None if the
    directory is not responsible for the user name.
    """
    keeper = gate(console.store)
    async with console.store.read() as session:
        found = await ldap.user_of(session, username, keeper.aliases.get(username.lower()))
    if found is None:
        return None
    directory, user = found
    if not anew and user is not None and keeper.verifier.remembers(username, password, _cache_key(directory, user)):
        async with console.store.read() as session:
            waits, has_failed = await logins.standing_from(session, user, source)
        if not waits:
            return Verified(user, user.passwords[0], has_failed), False
    attempt = (username, password, place(source))
    return await keeper.verifier.once(attempt, lambda: _verify(console, keeper, username, password, source)), True


def _cache_key(directory: Directory, user: User) -> str:
    """Return the value that a cached password is bound to."""
    return f"{user.password_id} {directory.cache_ttl}"


async def _verify(console: Console, keeper: Gate, username: str, password: str, source: str) -> Verified | None:
    async with keeper.directory.turn(place(source)):
        # Read again: while this attempt was queued, other attempts may have exceeded the limit of failures.
        async with console.store.read() as session:
            found = await ldap.user_of(session, username, keeper.aliases.get(username.lower()))
            rules = (await cluster.load(session)).rules
            if found is None:
                return None
            directory, user = found
            waits, has_failed = keeper.strangers.waits(username, source), False
            if user is not None:
                waits, has_failed = await logins.standing_from(session, user, source)
        person = await _query(console, keeper, directory, username, password, source, waits=waits)
    if person is None:
        if user is None and not waits:
            keeper.strangers.failed(username, source, rules)
        name = user.email if user is not None else username
        await note_failure(console.store, keeper, name, source, counts=user is not None and not waits)
        return None
    keeper.strangers.succeeded(username, source)
    user = await _sign_in(console.store, directory, username, person)
    keeper.note_alias(username, user)
    keeper.verifier.remember(username, password, _cache_key(directory, user), directory.cache_ttl)
    return Verified(user, user.passwords[0], has_failed)


async def _query(
    console: Console, keeper: Gate, directory: Directory, username: str, password: str, source: str, *, waits: bool
) -> Person | None:
    """Query the directory. Returns None for wrong passwords and for throttled attempts: clients must not distinguish them."""
    # The reply takes at least as long as for a user with a local password.
    equalizer = asyncio.create_task(_equalize_time(keeper, password, source))
    try:
        return None if waits else await console.ldap.authenticate(directory, username, password)
    except Ambiguous as reason:
        await note_unavailable(console.store, keeper, str(reason))
        return None
    except NoAnswer as reason:
        await note_unavailable(console.store, keeper, str(reason))
        sentence = "The LDAP directory does not respond. Try again later. Users with a local password can sign in."
        raise Unavailable("ldap_unavailable", sentence) from reason
    finally:
        await equalizer  # raises for both kinds of users if too many attempts are queued


async def _equalize_time(keeper: Gate, password: str, source: str) -> None:
    async with keeper.verifier.turn(place(source)):
        await passwords.matching(password, ())


async def _sign_in(store: Store, directory: Directory, username: str, person: Person) -> User:
    async with store.read() as session:
        user = await ldap.known(session, directory, person)
    if user is not None:
        return user
    try:
        async with store.begin() as session:
            user = await ldap.sign_in(session, directory, username, person)
    except Forbidden as refusal:
        if refusal.code == "no_role":
            await _sign_out(store, person)
        raise
    look_again(store)  # the role may have changed
    return user


async def _sign_out(store: Store, person: Person) -> None:
    """Sign the user out. Does nothing if that has been done, since a program can repeat its requests without a role."""
    async with store.read() as session:
        if await ldap.with_role(session, person) is None:
            return
    async with store.begin() as session:
        await ldap.sign_out(session, person)
    look_again(store)
