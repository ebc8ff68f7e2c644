"""Column types whose values are encrypted in the store and plain text in Python.

Without keys, and in stores of earlier releases, values are stored unencrypted. `encrypt_all` encrypts them later.
"""

import json
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import JSON, Column, Connection, Dialect, String, Table, TypeDecorator, literal, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.schema import MetaData
from sqlalchemy.types import TypeEngine

from shardboard.store.store_key import StoreKeys

_KEYS: WeakKeyDictionary[Dialect, StoreKeys] = WeakKeyDictionary()
"""Keys by store. Column types only get the dialect, which identifies the store."""


def set_keys(dialect: Dialect, keys: StoreKeys) -> None:
    """Encrypt the columns of the store with this dialect."""
    _KEYS[dialect] = keys


class EncryptedText(TypeDecorator[str]):
    """A text column. `column` is its name, `table.column`, to which the encryption is bound."""

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
    """A JSON object or list, stored as encrypted text; None is NULL."""

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
    """Return all encrypted columns by table."""
    encrypted_by_table = {
        table: [column for column in table.columns if isinstance(column.type, EncryptedText | EncryptedJson)]
        for table in metadata.sorted_tables
    }
    return {table: encrypted for table, encrypted in encrypted_by_table.items() if encrypted}


async def encrypt_all(session: AsyncSession, metadata: MetaData, keys: StoreKeys) -> int:
    """Encrypt all values that are not encrypted with the newest key. Return their number. Raises StoreKeyError if one cannot be
    decrypted.
    """
    connection = await session.connection()
    return sum(
        [await connection.run_sync(_encrypt, table, encrypted, keys) for table, encrypted in columns(metadata).items()]
    )


def _encrypt(connection: Connection, table: Table, chosen: list[Column[Any]], keys: StoreKeys) -> int:
    primary_key, raw = list(table.primary_key.columns), {column: _raw(column) for column in chosen}
    stored = [type_coerce(column, form).label(column.name) for column, form in raw.items()]
    count = 0
    for row in connection.execute(select(*primary_key, *stored).with_for_update()).mappings().all():
        changed = {
            column.name: literal(_newest(row[column.name], str(column), keys), form)
            for column, form in raw.items()
            if row[column.name] is not None and not keys.is_newest(row[column.name])
        }
        if changed:
            connection.execute(
                table.update().where(*(column == row[column.name] for column in primary_key)).values(changed)
            )
            count += len(changed)
    return count


def _raw(column: Column[Any]) -> TypeEngine[Any]:
    """Return the column type that reads and writes the stored value without encryption."""
    return JSON(none_as_null=True) if isinstance(column.type, EncryptedJson) else String()


def _newest(stored: Any, column: str, keys: StoreKeys) -> str:
    """Encrypt a stored value with the newest key. Unencrypted JSON is returned by the store as an object, not as text."""
    return keys.encrypt(keys.decrypt(stored, column) if isinstance(stored, str) else json.dumps(stored), column)
