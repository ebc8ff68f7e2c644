"""Encryption of the store's secrets: at every start of a console, what is not yet encrypted with the newest key; and other keys."""

from sqlalchemy import String, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Base
from shardboard.domain.numerals import plural
from shardboard.encrypted import encrypt_all
from shardboard.settings import Settings
from shardboard.state import events
from shardboard.state.cluster import Cluster
from shardboard.store_key import StoreKeyError, StoreKeys, key_name, lacks_own, make_own, store_keys


async def keys_of_console(session: AsyncSession, settings: Settings) -> StoreKeys:
    """Made at the first start of a console. Raises StoreKeyError."""
    if lacks_own(settings):
        if (name := await _newest_key(session)) is not None:
            raise StoreKeyError(
                f"There is no store key in {settings.key_file}, and the store is encrypted with the key {name}: put that back."
            )
        make_own(settings)
    return store_keys(settings)


async def insist_on_encrypted(session: AsyncSession) -> None:
    """Before anybody but a console writes: a console of an earlier release may be running, which could not read what is encrypted.
    Raises StoreKeyError."""
    if await _newest_key(session) is None:
        raise StoreKeyError(
            "The store is not encrypted yet: start the console of this release first, which sees to that."
        )


async def bring_up_to_date(session: AsyncSession, keys: StoreKeys, originator: str = "system") -> int:
    """Encrypt with the newest key what is not yet; how many values that were. Raises StoreKeyError when one cannot be decrypted."""
    # Whoever orders something locks this row first: else each could wait for the other.
    await session.execute(select(Cluster.uid).with_for_update())
    count = await encrypt_all(session, Base.metadata, keys)
    if count:
        were = "was" if count == 1 else "were"
        told = f"{plural(count, 'secret')} of the store {were} encrypted with the key {keys.first}."
        events.record(session, "store_encrypted", told, source="cluster", originator=originator)
    return count


async def _newest_key(session: AsyncSession) -> str | None:
    """Name of the key of a value that every store has; None when it is not encrypted."""
    return key_name((await session.execute(select(type_coerce(Cluster.jwt_secret, String)))).scalar())
