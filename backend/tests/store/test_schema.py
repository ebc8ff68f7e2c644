"""Which releases can use a store, and which changes of the schema `scripts/check-migrations` rejects."""

import importlib.machinery
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import sqlalchemy as sa

from shardboard.contract.protocol import PROTOCOL
from shardboard.store.schema import Schema

SCRIPT = Path(__file__).parents[3] / "scripts" / "check-migrations"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("check_migrations", str(SCRIPT))
    spec = importlib.util.spec_from_loader("check_migrations", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def previous() -> sa.MetaData:
    """Return the tables of the previous release."""
    metadata = sa.MetaData()
    sa.Table(
        "parents",
        metadata,
        sa.Column("uid", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(8), nullable=False),
        sa.Column("note", sa.String),
        sa.UniqueConstraint("name", name="uq_parents_name"),
    )
    sa.Table(
        "children",
        metadata,
        sa.Column("uid", sa.Integer, primary_key=True),
        sa.Column("parent_uid", sa.ForeignKey("parents.uid", ondelete="CASCADE", name="fk_children_parent")),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Index("ix_children_at", "at"),
    )
    return metadata


COMPATIBLE = (
    "CREATE TABLE others (uid INTEGER PRIMARY KEY)",
    "CREATE TABLE others (uid INT, CONSTRAINT fk_others FOREIGN KEY(uid) REFERENCES parents (uid) ON DELETE CASCADE)",
    "ALTER TABLE parents ADD COLUMN added VARCHAR",
    "ALTER TABLE parents ADD COLUMN added INTEGER NOT NULL DEFAULT 1",
    "CREATE INDEX ix_parents_note ON parents (note)",
    "DROP INDEX ix_children_at",
)
INCOMPATIBLE = {
    "DROP TABLE children": "children: missing table",
    "ALTER TABLE parents DROP COLUMN note": "parents.note: missing column",
    "ALTER TABLE parents RENAME COLUMN note TO remark": "parents.note: missing column",
    "CREATE UNIQUE INDEX ux_parents_note ON parents (note)": "parents: new unique constraint ux_parents_note",
    "CREATE TABLE others (uid INTEGER PRIMARY KEY, parent_uid INTEGER REFERENCES parents (uid))": (
        "others: new table whose rows prevent deletions of parents.uid"
    ),
}


@pytest.mark.parametrize("statement", COMPATIBLE)
def test_additions_are_accepted(script: ModuleType, connection: sa.Connection, statement: str) -> None:
    previous().create_all(connection)
    connection.exec_driver_sql(statement)
    compatibility = script.Compatibility(connection, script.describe(previous()))
    assert compatibility.differences
    assert list(compatibility.problems()) == []


@pytest.mark.parametrize("statement", INCOMPATIBLE)
def test_removals_and_new_conditions_are_rejected(
    script: ModuleType, connection: sa.Connection, statement: str
) -> None:
    previous().create_all(connection)
    connection.exec_driver_sql(statement)
    compatibility = script.Compatibility(connection, script.describe(previous()))
    assert INCOMPATIBLE[statement] in list(compatibility.problems())


def changed_column(name: str, **changes: object) -> sa.MetaData:
    """Return the tables of the previous release with another column `parents.name`."""
    metadata = sa.MetaData()
    for table in previous().sorted_tables:
        table.to_metadata(metadata)
    for key, value in changes.items():
        setattr(metadata.tables["parents"].columns[name], key, value)
    return metadata


@pytest.mark.parametrize(
    ("column", "changes", "problem"),
    [
        ("note", {"nullable": False}, "parents.note: nullable has changed"),
        ("name", {"nullable": True}, "parents.name: nullable has changed"),
        ("name", {"type": sa.Integer()}, "parents.name: type has changed"),
    ],
)
def test_changed_columns_are_rejected(
    script: ModuleType, connection: sa.Connection, column: str, changes: dict[str, object], problem: str
) -> None:
    changed_column(column, **changes).create_all(connection)
    assert problem in list(script.Compatibility(connection, script.describe(previous())).problems())


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        (sa.Column("added", sa.Integer, nullable=False), "parents.added: new column without a server default"),
        (sa.CheckConstraint("uid > 5", name="ck_parents_uid"), "parents: new check ck_parents_uid"),
        (sa.ForeignKeyConstraint(["note"], ["parents.uid"], name="fk_note"), "parents: new foreign key fk_note"),
    ],
)
def test_required_additions_are_rejected(
    script: ModuleType, connection: sa.Connection, extra: sa.schema.SchemaItem, problem: str
) -> None:
    changed = changed_column("name")
    table = changed.tables["parents"]
    if isinstance(extra, sa.Column):
        table.append_column(extra)
    else:
        table.append_constraint(extra)  # type: ignore[arg-type]
    changed.create_all(connection)
    assert problem in list(script.Compatibility(connection, script.describe(previous())).problems())


@pytest.mark.parametrize(("ondelete", "problems"), [("CASCADE", []), (None, ["children: new foreign key fk_added"])])
def test_new_columns_with_keys_are_accepted_if_deletions_still_work(
    script: ModuleType, connection: sa.Connection, ondelete: str | None, problems: list[str]
) -> None:
    changed = changed_column("name")
    table = changed.tables["children"]
    table.append_column(sa.Column("added", sa.Integer))
    table.append_constraint(sa.ForeignKeyConstraint(["added"], ["parents.uid"], name="fk_added", ondelete=ondelete))
    changed.create_all(connection)
    assert list(script.Compatibility(connection, script.describe(previous())).problems()) == problems


def test_rows_that_the_previous_release_cannot_insert_are_reported(
    script: ModuleType, connection: sa.Connection
) -> None:
    changed = changed_column("name")
    changed.tables["parents"].append_column(sa.Column("added", sa.Integer, nullable=False))
    changed.create_all(connection)
    [problem] = script.insert_rows(connection, previous(), "of the previous release")
    assert problem.startswith("parents: a row of the previous release cannot be inserted and read: NOT NULL")


def test_described_tables_are_the_same(script: ModuleType) -> None:
    described = script.describe(previous())
    assert script.describe(script.parse(described)) == described


def test_a_changed_schema_needs_the_next_number(script: ModuleType) -> None:
    assert script.number_problem(PROTOCOL - 1, has_changed=True) == ""
    assert script.number_problem(PROTOCOL, has_changed=False) == ""
    assert "raise PROTOCOL" in script.number_problem(PROTOCOL, has_changed=True)
    assert "must not be skipped" in script.number_problem(PROTOCOL - 2, has_changed=True)


def test_the_code_may_omit_what_only_the_previous_release_uses(script: ModuleType) -> None:
    retained = previous()
    assert not script.is_checked(retained, "parents", "table", "parents")
    assert not script.is_checked(retained, "note", "column", "parents")
    assert script.is_checked(retained, "unused", "column", "parents")
    assert script.is_checked(retained, "unused", "table", "unused")


@pytest.mark.parametrize(
    ("revision", "number", "is_outdated", "is_refused"),
    [
        (None, None, True, False),
        ("0001", PROTOCOL - 1, True, False),
        ("head", PROTOCOL, False, False),
        ("newer", PROTOCOL + 1, False, False),
        ("newer", PROTOCOL + 2, False, True),
        ("newer", PROTOCOL, False, True),
        ("newer", None, False, True),
    ],
)
def test_consoles_use_stores_of_at_most_the_next_release(
    revision: str | None, number: int | None, is_outdated: bool, is_refused: bool
) -> None:
    schema = Schema(revision, "head", revision != "newer", number)
    assert (schema.is_outdated, bool(schema.refusal)) == (is_outdated, is_refused)
