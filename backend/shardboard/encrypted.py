"""Columns whose content is encrypted in the store, and plain in Python.

Without keys, and where the store was written by an earlier release, they hold what they always did; `encrypt_all` sees to the rest.
"""

import json
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import JSON, Column, Connection, Dialect, String, Table, TypeDecorator, literal, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.schema import MetaData
from sqlalchemy.types import TypeEngine

from shardboard.store_key import StoreKeys

_KEYS: WeakKeyDictionary[Dialect, StoreKeys] = WeakKeyDictionary()
"""Of each store: its dialect is what a column is given to tell it by."""


def use(dialect: Dialect, keys: StoreKeys) -> None:
    """Encrypt in the store of that dialect."""
    _KEYS[dialect] = keys


class Encrypted(TypeDecorator[str]):
    """A text. `column` is `table.column`, to which it is bound."""

    impl = String
    cache_ok = True

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        keys = _KEYS.get(dialect)
        return value if value is None or keys is None else keys.encrypt(value, self.column)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        keys = _KEYS.get(dialect)
        return value if value is None or keys is None else keys.decrypt(value, self.column)


class EncryptedJson(TypeDecorator[Any]):
    """An object or a list of JSON, which is a text of JSON when it is encrypted; None is NULL."""

    impl = JSON
    cache_ok = True

    def __init__(self, column: str) -> None:
        super().__init__(none_as_null=True)
        self.column = column

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        keys = _KEYS.get(dialect)
        return value if value is None or keys is None else keys.encrypt(json.dumps(value), self.column)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        keys = _KEYS.get(dialect)
        return json.loads(keys.decrypt(value, self.column)) if isinstance(value, str) and keys is not None else value


def columns(metadata: MetaData) -> dict[Table, list[Column[Any]]]:
    """All that are encrypted."""
    found = {
        table: [column for column in table.columns if isinstance(column.type, Encrypted | EncryptedJson)]
        for table in metadata.sorted_tables
    }
    return {table: chosen for table, chosen in found.items() if chosen}


async def encrypt_all(session: AsyncSession, metadata: MetaData, keys: StoreKeys) -> int:
    """Encrypt with the newest key what is not yet. How many values that were. Raises StoreKeyError when one cannot be decrypted."""
    connection = await session.connection()
    return sum(
        [await connection.run_sync(_encrypt, table, chosen, keys) for table, chosen in columns(metadata).items()]
    )


def _encrypt(connection: Connection, table: Table, chosen: list[Column[Any]], keys: StoreKeys) -> int:
    own, raw = list(table.primary_key.columns), {column: _raw(column) for column in chosen}
    stored = [type_coerce(column, form).label(column.name) for column, form in raw.items()]
    count = 0
    for row in connection.execute(select(*own, *stored).with_for_update()).mappings().all():
        changed = {
            column.name: literal(_newest(row[column.name], str(column), keys), form)
            for column, form in raw.items()
            if row[column.name] is not None and not keys.is_newest(row[column.name])
        }
        if changed:
            connection.execute(table.update().where(*(column == row[column.name] for column in own)).values(changed))
            count += len(changed)
    return count


def _raw(column: Column[Any]) -> TypeEngine[Any]:
    """How to read and write what is really there."""
    return JSON(none_as_null=True) if isinstance(column.type, EncryptedJson) else String()


def _newest(stored: Any, column: str, keys: StoreKeys) -> str:
    """`stored` is as it is in the store, which has JSON that was never encrypted as what it says."""
    return keys.encrypt(keys.decrypt(stored, column) if isinstance(stored, str) else json.dumps(stored), column)
