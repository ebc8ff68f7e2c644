"""Encryption of secrets in the store: at each start of a console, secrets that do not use the newest key are encrypted with it."""

from sqlalchemy import String, inspect, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.text import plural
from shardboard.settings import Settings
from shardboard.state.alerting import events
from shardboard.state.cluster.cluster import Cluster
from shardboard.store.db import Base
from shardboard.store.encrypted_columns import encrypt_all
from shardboard.store.store_key import (
    StoreKeyError,
    StoreKeys,
    create_key_file,
    is_key_file_missing,
    key_name,
    store_keys,
)

PROVIDE_KEY = (
    "Copy that key from the machine of another console of this store, or from a backup, to SHARDBOARD_STORE_KEY_FILE (by default "
    "store.key in the state directory), or provide it with SHARDBOARD_STORE_KEY_COMMAND."
)


async def load_or_create_keys(session: AsyncSession, settings: Settings) -> StoreKeys:
    """Return the keys of the console, which are created at the first start on a new store. Nothing is changed if the store is
    encrypted with another key. Raises StoreKeyError.
    """
    name = await _newest_key(session)
    if is_key_file_missing(settings):
        if name is not None:
            raise StoreKeyError(
                f"There is no store key in {settings.key_file}, but the store is encrypted with the key {name}. {PROVIDE_KEY}"
            )
        create_key_file(settings)
    keys = store_keys(settings)
    if name is not None and name not in keys.names:
        raise StoreKeyError(
            f"The store is encrypted with the key {name}, but this console has {', '.join(keys.names)}. {PROVIDE_KEY}"
        )
    return keys


async def require_encrypted_store(session: AsyncSession) -> None:
    """Require an encrypted store before a process other than the console writes to it.

    A console of an earlier release may be running, which could not read encrypted values. Raises StoreKeyError.
    """
    if await _newest_key(session) is None:
        raise StoreKeyError(
            "The store is not encrypted yet. Start the console of this release first; it encrypts the store."
        )


async def encrypt_outdated(session: AsyncSession, keys: StoreKeys, originator: str = "system") -> int:
    """Encrypt all secrets that do not use the newest key. Returns their number.

    Raises StoreKeyError if a value cannot be decrypted.
    """
    # Requests lock this row first. The same order here avoids deadlocks.
    await session.execute(select(Cluster.uid).with_for_update())
    count = await encrypt_all(session, Base.metadata, keys)
    if count:
        verb = "was" if count == 1 else "were"
        message = f"{plural(count, 'secret')} of the store {verb} encrypted with the key {keys.first}."
        events.record(session, "store_encrypted", message, source="cluster", originator=originator)
    return count


async def _newest_key(session: AsyncSession) -> str | None:
    """Return the name of the key of a value that each store has; None if the value is not encrypted or the store is new."""
    connection = await session.connection()
    if not await connection.run_sync(lambda sync: inspect(sync).has_table(Cluster.__tablename__)):
        return None
    return key_name((await session.execute(select(type_coerce(Cluster.jwt_secret, String)))).scalar())
