"""Column types whose values are encrypted in the store and plain text in Python.

Without keys, and in stores of earlier releases, values are stored unencrypted. `encrypt_all` encrypts them later.
"""

import json
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    String,
    Table,
    TypeDecorator,
    and_,
    cast,
    literal,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.schema import MetaData
from sqlalchemy.types import TypeEngine

from shardboard.store.store_key import PREFIX, StoreKeys

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
    is_outdated = or_(*(_is_outdated(column, keys) for column in chosen))
    count = 0
    # One row at a time, because manifests of backups are large.
    for found in connection.execute(select(*primary_key).where(is_outdated).with_for_update()).all():
        is_row = and_(*(column == value for column, value in zip(primary_key, found, strict=True)))
        row = connection.execute(select(*stored).where(is_row)).mappings().one()
        changed = {
            column.name: literal(_newest(row[column.name], str(column), keys), form)
            for column, form in raw.items()
            if row[column.name] is not None and not keys.is_newest(row[column.name])
        }
        if changed:
            connection.execute(table.update().where(is_row).values(changed))
            count += len(changed)
    return count


def _is_outdated(column: Column[Any], keys: StoreKeys) -> ColumnElement[bool]:
    """Return the condition that a value is not encrypted with the newest key. Encrypted JSON is stored as a JSON text."""
    quote = '"' if isinstance(column.type, EncryptedJson) else ""
    return cast(column, String).not_like(f"{quote}{PREFIX}{keys.first}:%")


def _raw(column: Column[Any]) -> TypeEngine[Any]:
    """Return the column type that reads and writes the stored value without encryption."""
    return JSON(none_as_null=True) if isinstance(column.type, EncryptedJson) else String()


def _newest(stored: Any, column: str, keys: StoreKeys) -> str:
    """Encrypt a stored value with the newest key. Unencrypted JSON is returned by the store as an object, not as text."""
    return keys.encrypt(keys.decrypt(stored, column) if isinstance(stored, str) else json.dumps(stored), column)
