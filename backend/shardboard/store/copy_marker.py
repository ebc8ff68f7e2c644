"""Marks stores that no console may use, because `shardboard migrate-store` has not finished, or has moved them to PostgreSQL.

The marker is the table `store_copy`. In the target, it contains the progress of the copy. In the source, it contains the target.
"""

from sqlalchemy import BigInteger, Column, Connection, MetaData, String, Table, Text, delete, insert, inspect, select

SOURCE, TARGET = "source", "target"
"""Names of the first row. Its value is the id of the console that is copied, or the URL of the target."""

marker = Table(
    "store_copy",
    MetaData(),
    Column("name", String, primary_key=True, doc="name of a table, or SOURCE or TARGET"),
    Column("value", Text, doc="JSON of the primary key of the last copied row"),
    Column("copied", BigInteger, nullable=False, server_default="0", doc="number of copied rows"),
)


def read(connection: Connection, name: str) -> str | None:
    """Return the value of a row; None without marker or row."""
    if not inspect(connection).has_table(marker.name):
        return None
    value: str | None = connection.execute(select(marker.c.value).where(marker.c.name == name)).scalar()
    return value


def write(connection: Connection, name: str, value: str) -> None:
    """Create the marker, unless it exists, with this row."""
    marker.create(connection, checkfirst=True)
    connection.execute(delete(marker).where(marker.c.name == name))
    connection.execute(insert(marker).values(name=name, value=value))


def require_unmarked(connection: Connection) -> None:
    """Raises ValueError with a message if no console may use the store."""
    if (target := read(connection, TARGET)) is not None:
        raise ValueError(
            f"This store was moved to {target}. Set SHARDBOARD_DATABASE_URL. To use the SQLite store instead, without all later "
            f"changes, delete its table {marker.name}."
        )
    if inspect(connection).has_table(marker.name):
        raise ValueError(
            "The PostgreSQL database contains an unfinished copy of a SQLite store. Run `shardboard migrate-store` again to "
            "complete it."
        )
