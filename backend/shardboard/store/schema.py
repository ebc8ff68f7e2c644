"""The release of a store's schema, and which releases can use it.

The newest console migrates the store, and records its number. Consoles of the release before continue to work: migrations only add
tables, columns that inserts of the release before can omit, and indexes. `scripts/check-migrations` checks this.
"""

from dataclasses import dataclass

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from shardboard import __version__
from shardboard.contract.protocol import PROTOCOL

TABLE = "store_release"
NUMBER = f"(SELECT number FROM {TABLE})"  # noqa: S608 - a constant
"""SQL expression for the number of the release that has migrated the store."""


@dataclass(frozen=True)
class Schema:
    """The schema of a store, as this release sees it."""

    revision: str | None
    """None: the store is empty."""
    head: str | None
    """The newest revision that this release knows."""
    is_known: bool
    """Whether this release knows the revision."""
    number: int | None
    """Number of the release that has migrated the store; None if an earlier release did, which had no number."""

    @property
    def is_outdated(self) -> bool:
        """Whether this release must migrate the store."""
        return self.is_known and self.revision != self.head

    @property
    def refusal(self) -> str:
        """Why this release cannot use the store; empty if it can."""
        if self.is_known or (self.number is not None and supports(self.number) and self.number > PROTOCOL):
            return ""
        release = f" of release {self.number}" if self.number is not None else ""
        return (
            f"A newer release uses this store: its schema{release} has revision {self.revision}, and this release ({__version__}, "
            f"number {PROTOCOL}) supports revisions up to {self.head}, and those of release {PROTOCOL + 1}. Nothing was changed. "
            "Install the newer release on this machine."
        )


def supports(number: int) -> bool:
    """Return whether this release can use a store that a newer release has migrated."""
    return number <= PROTOCOL + 1


def read(connection: Connection, revisions: ScriptDirectory) -> Schema:
    """Return the schema of a store. `revisions` are those of this release."""
    revision = MigrationContext.configure(connection).get_current_revision()
    known = revision is None or revision in {each.revision for each in revisions.walk_revisions()}
    number = connection.execute(text(f"SELECT {NUMBER}")).scalar() if inspect(connection).has_table(TABLE) else None
    return Schema(revision, revisions.get_current_head(), known, number)


def record(connection: Connection) -> None:
    """Record that this release has migrated the store."""
    statement = (
        f"INSERT INTO {TABLE} (uid, number) VALUES (1, :number)"  # noqa: S608
        f" ON CONFLICT (uid) DO UPDATE SET number = :number WHERE {TABLE}.number < :number"
    )
    connection.execute(text(statement), {"number": PROTOCOL})
