"""Commands that access the store directly, whether or not the console runs. Access to the state directory replaces a password."""

import asyncio
import os
import pwd
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.audit import ChainVerification
from shardboard.errors import ApiError, CommandError
from shardboard.kit.bus import Bus
from shardboard.pki.key_files import write_private
from shardboard.queries.access import audit as audit_trail
from shardboard.services.access import passwords, users
from shardboard.services.access.authorization import set_admin
from shardboard.services.cluster import console_certificates, join
from shardboard.services.cluster.encryption import encrypt_outdated, require_encrypted_store
from shardboard.settings import Settings
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditContext
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeyError, StoreKeys, rotating, store_keys

SHELL = "shell"
"""Originator in events."""


def make_tokens(count: int, ttl: int, addr: str | None, directory: Path | None) -> str:
    """Create join tokens. Return one per line, or nothing if they are written to files. Raises CommandError, like all functions
    here.
    """

    async def make() -> list[str]:
        async with _in_store("token") as (session, _):
            created_tokens = [
                await join.create_token(session, originator=SHELL, ttl=ttl, addr=addr) for _ in range(count)
            ]
        return [text for text, _ in created_tokens]

    tokens = asyncio.run(make())
    if directory is None:
        return "\n".join(tokens)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number, text in enumerate(tokens, 1):
        write_private(directory / f"token-{number}", f"{text}\n".encode())
    return ""


def reset_password(user: str | None) -> str:
    """Set a new password for a user, by default the first administrator. Return a message with it."""
    name, password = user or Settings().admin_user, passwords.generate()

    async def reset() -> None:
        async with _in_store("reset-admin-password") as (session, _):
            await set_admin(session, name, password, originator=SHELL)

    asyncio.run(reset())
    return f"User {name}, password {password}"


def unlock(name: str) -> str:
    """Unlock a user after failed logins."""

    async def end() -> bool:
        async with _in_store("unlock") as (session, _):
            return await users.unlock(session, name, SHELL)

    was_locked = asyncio.run(end())
    return f"User {name} {'was unlocked' if was_locked else 'was not locked'}."


def rotate_key() -> str:
    """Encrypt the store's secrets with a new key."""

    async def encrypt() -> tuple[int, str]:
        async with _in_store("rotate-store-key") as (session, keys):
            return await encrypt_outdated(session, keys, originator=SHELL), keys.first

    try:
        with rotating(Settings()) as rotation:
            count, name = asyncio.run(encrypt())
    except StoreKeyError as error:
        raise CommandError(str(error)) from error
    except SQLAlchemyError as error:
        raise CommandError(f"the store failed and no key was removed. Try again: {error}") from error
    messages = [
        f"{count} secrets of the store are encrypted with the key {name}. The previous key stays in {rotation.file}."
    ]
    messages += [
        f"The key {removed} was removed. Backups of the store from before the last rotation need it."
        for removed in rotation.removed
    ]
    return "\n".join(messages)


def new_ca() -> str:
    """Replace the console CA at once, for a CA that was lost or has expired. Return a message."""

    async def create() -> str:
        async with _in_store("new-ca") as (session, _):
            return await console_certificates.reset(session, SHELL)

    fingerprint = asyncio.run(create())
    return f"Created a new console CA, SHA-256 {fingerprint}. All consoles use it. Every agent must rejoin."


def check_audit() -> str:
    """Verify the audit log. Return a message; raise CommandError if it is not intact."""

    async def follow() -> ChainVerification:
        async with opened() as (store, _):
            return await audit_trail.verify(store)

    check_result = asyncio.run(follow())
    if check_result.faults:
        raise CommandError("the audit log is not intact:\n" + "\n".join(check_result.faults))
    return f"The audit log is intact: records {check_result.ends.first} to {check_result.ends.last}."


@asynccontextmanager
async def _in_store(command: str) -> AsyncIterator[tuple[AsyncSession, StoreKeys]]:
    """Open a transaction, recorded in the audit log as that command. If it is rejected, the command ends with the reason."""
    context = AuditContext(
        source=socket.gethostname(), method="", path=command, username=_shell_user(), auth_method=SHELL
    )
    async with opened() as (store, keys):
        audit.current.set(context)
        try:
            async with store.begin() as session:
                await require_encrypted_store(session)
                yield session, keys
        except ApiError as refusal:
            async with store.begin() as session:
                audit.without_audit(session)
                await audit.add(session, context, "failed", code=refusal.code, detail=refusal.description)
            raise


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[Store, StoreKeys]]:
    settings = Settings()
    if settings.database_url is None and not (settings.state_dir / "console.db").exists():
        raise CommandError(f"no console found in {settings.state_dir}. Start it first")
    try:
        keys = store_keys(settings)
        try:
            store = Store(settings.store_url, Bus(), keys)
            await store.check()
            await store.check_release(is_migrated=True)
        except ValueError as error:
            raise CommandError(str(error)) from error
        try:
            yield store, keys
        finally:
            await store.close()
    except (ApiError, StoreKeyError) as error:
        raise CommandError(str(error)) from error


def _shell_user() -> str:
    """Return the system user. The environment is not used, because users can change it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without a name, as in containers
        return f"user {os.getuid()}"
