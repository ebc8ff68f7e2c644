"""Encryption of the store's secrets: at every start of a console, what is not yet encrypted with the newest key; and other keys."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Base
from shardboard.domain.numerals import plural
from shardboard.encrypted import encrypt_all
from shardboard.state import events
from shardboard.store_key import StoreKeys


async def bring_up_to_date(session: AsyncSession, keys: StoreKeys, originator: str = "system") -> int:
    """Encrypt with the newest key what is not yet; how many values that were. Raises StoreKeyError when one cannot be decrypted."""
    count = await encrypt_all(session, Base.metadata, keys)
    if count:
        were = "was" if count == 1 else "were"
        told = f"{plural(count, 'secret')} of the store {were} encrypted with the key {keys.first}."
        events.record(session, "store_encrypted", told, source="cluster", originator=originator)
    return count
