"""Tests that the store of the previous release is migrated and read completely."""

import json
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from alembic import command
from sqlalchemy import MetaData, Table, inspect, select, text
from sqlalchemy.orm import DeclarativeBase

from shardboard.console import Console
from shardboard.driver.fake_agents import FACTS
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.queries.cluster import host_checks
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditLine
from shardboard.state.access.login_failures import LoginFailures
from shardboard.state.access.sessions import LoginSession
from shardboard.state.access.users import User
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.benchmarks.benchmark_runs import BenchmarkLoad
from shardboard.state.cluster.agent_certificates import IssuedCertificate
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups
from shardboard.state.databases.shards import Shard
from shardboard.state.failures.outages import Outage
from shardboard.store.db import Base, Store, alembic_config

pytestmark = pytest.mark.store

PREVIOUS_REVISION = "0035"
NOW = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)

ROWS: list[tuple[type[DeclarativeBase], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        Shard,
        {"uid": 1, "node_uid": 1, "bdb_uid": 1, "pair": 0, "role": "slave", "slots": "", "port": 20000, "bus_port": 25000,
         "engine_id": "a" * 40, "observed_status": "ok"},
        {"leads_again": True},
        {"should_regain_primary": True},
    ),
    (
        Webhook,
        {"name": "chat", "kind": "webhook", "url": "https://x.example.org", "secret": "s", "ca": "", "events": "alarms",
         "min_severity": "WARNING", "enabled": True, "created_at": NOW, "raised": [4]},
        {"told_to": 7, "last_told_at": NOW, "silent_until": LATER},
        {"last_sent_uid": 7, "last_sent_at": NOW, "muted_until": LATER},
    ),
    (
        IssuedCertificate,
        {"serial": "ab12", "node_uid": 1},
        {"ends": LATER, "refused": True},
        {"valid_until": LATER, "revoked": True},
    ),
    (
        AuditLine,
        {"uid": 1, "time": NOW, "username": "ann", "source": "192.0.2.1", "method": "POST", "path": "/v1/bdbs",
         "outcome": "done", "code": "", "detail": "", "link": ""},
        {"proof": "service token"},
        {"auth_method": "service token"},
    ),
    (
        LoginSession,
        {"user_uid": 1, "token_hash": "h", "address": "", "browser": "", "created_at": NOW, "last_seen_at": NOW,
         "expires_at": LATER},
        {"password_mark": "m"},
        {"password_fingerprint": "m"},
    ),
    (
        BenchmarkLoad,
        {"uid": "b" * 32, "benchmark_uid": 1, "phase": 0, "repetition": 0, "node_uid": 1, "status": "ended"},
        {"held": True, "began": {"at": 1.0}, "ended": {"ops": 9}},
        {"is_stored_on_node": True, "first_line": {"at": 1.0}, "last_line": {"ops": 9}},
    ),
    (
        Outage,
        {"bdb_uid": 1, "address": "10.0.0.2", "port": 20000, "slots": "0-99", "noticed_ms": 5, "waited": 1, "failed": 2,
         "lost": 3, "noticed_at": NOW},
        {"seen_by": 3, "watched": True},
        {"reported_by": 3, "is_exact": True},
    ),
    (
        LoginFailures,
        {"user_uid": 1, "network": "192.0.2.0", "count": 5, "last_at": NOW},
        {"waits_until": LATER},
        {"locked_until": LATER},
    ),
]  # fmt: skip
"""A row of each table with renamed columns: other columns, previous names with values, and current names with values."""


@pytest.fixture
async def previous(store: Store) -> AsyncIterator[Store]:
    """A store of the previous release with a user and a node."""
    async with store.begin() as session:
        session.add(User(uid=1, email="ann", name="", password_hash="", role="admin", created_at=NOW))
        session.add(
            Node(uid=1, addr="10.0.0.1", agent_port=9700, agent_status="connected", last_seen=NOW, joined_at=NOW,
                 facts=FACTS.model_dump(), config={})
        )  # fmt: skip
    await downgrade(store, PREVIOUS_REVISION)
    yield store
    await store.migrate()


async def downgrade(store: Store, revision: str) -> None:
    async with store.engine.connect() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(store.url, sync), revision))
        await connection.commit()


async def insert(store: Store, table: str, **values: Any) -> None:
    """Insert a row with the columns that the table has now."""
    declared = Base.metadata.tables[table].columns
    async with store.engine.connect() as connection:
        reflected = await connection.run_sync(lambda sync: Table(table, MetaData(), autoload_with=sync))
        for column in reflected.columns:  # reflection does not know the types of the application
            if (column_info := declared.get(column.name)) is not None:
                column.type = column_info.type
            elif isinstance(values.get(column.name), datetime):
                column.type = Base.metadata.tables["nodes"].columns["last_seen"].type
        defaults = {
            column.name: column.default.arg
            for column in declared
            if column.default is not None and column.default.is_scalar and column.name in reflected.columns
        }
        await connection.execute(reflected.insert().values(**{**defaults, **values}))
        await connection.commit()


async def column_names(store: Store, table: str) -> set[str]:
    async with store.engine.connect() as connection:
        return await connection.run_sync(lambda sync: {each["name"] for each in inspect(sync).get_columns(table)})


@pytest.mark.parametrize(("kind", "columns", "before", "after"), ROWS, ids=lambda each: getattr(each, "__name__", ""))
async def test_rows_with_previous_column_names_are_read(
    previous: Store,
    kind: type[DeclarativeBase],
    columns: dict[str, Any],
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    await insert(previous, kind.__tablename__, **columns, **before)
    await previous.migrate()
    async with previous.read() as session:
        row = (await session.execute(select(kind))).scalar_one()
        values = {name: getattr(row, name) for name in {**columns, **after}}
    assert values == {**columns, **after}
    await downgrade(previous, PREVIOUS_REVISION)
    assert before.keys() <= await column_names(previous, kind.__tablename__), "the migration can be reverted"


async def test_audit_log_of_the_previous_release_is_intact(console: Console) -> None:
    store = console.store
    await downgrade(store, PREVIOUS_REVISION)
    await store.migrate()
    async with store.read() as session:
        verification = await audit.chain_verification(session)
        for line in await audit.list_after(session, 0, 10):
            verification.verify_line(line, line.link)
        verification.finish()
    assert (verification.lines, verification.faults) == (1, [])


async def test_event_details_have_current_names(previous: Store) -> None:
    columns = {
        "time": NOW,
        "severity": "INFO",
        "source": "bdb",
        "description": "",
        "originator": "system",
        "is_open": True,
    }
    increase = {"shard_uid": None, "before": 1, "after": 9}
    stored = {
        "shard_failover": {"heir": 4, "lost": 1},
        "shard_handover_failed": {"heir": 4, "tries": 2, "again_in": 1.5, "reason": "x"},
        "alarm_unknown_node": {"left_alone": "", "taken_back": "0-9", "open": True},
        "alarm_unordered_epoch": {"rises": [increase], "takeovers": []},
    }
    for kind, details in stored.items():
        await insert(previous, "events", type=kind, details=details, **columns)
    await previous.migrate()
    async with previous.read() as session:
        details_by_type = {event.type: event.details for event in (await session.execute(select(Event))).scalars()}
    assert details_by_type == {
        "shard_failover": {"promoted": 4, "lost": 1},
        "shard_handover_failed": {"promoted": 4, "attempts": 2, "retry_in": 1.5, "reason": "x"},
        "alarm_unknown_node": {"kept_reason": "", "reclaimed": "0-9", "open": True},
        "alarm_unordered_epoch": {"increases": [increase], "takeovers": []},
    }


async def test_host_checks_of_the_previous_release_are_read(previous: Store) -> None:
    check = {"name": "swappiness", "value": "60", "good": False}
    async with previous.engine.connect() as connection:
        table = Base.metadata.tables["nodes"]
        facts = {**FACTS.model_dump(), "host": [{**check, "costs": "c", "mends": "m"}]}
        await connection.execute(table.update().values(facts=facts))
        await connection.commit()
    await previous.migrate()
    async with previous.read() as session:
        node = await session.get_one(Node, 1)
        [host_check] = (await host_checks.checks(session, [node]))[1]
    assert (host_check.name, host_check.impact, host_check.remedy) == ("swappiness", "c", "m")


@pytest.mark.parametrize(
    ("stored_step", "step"), [("announced", "announced"), ("shown", "served"), ("forgotten", "removed")]
)
def test_shard_certificates_of_the_previous_release_are_read(stored_step: str, step: str) -> None:
    stored = {
        "authority": "CA",
        "authority_key": "CA key",
        "certificate": "certificate",
        "key": "key",
        "number": 3,
        "replacing": stored_step,
        "next_authority": "next CA",
        "next_authority_key": "next CA key",
        "former_authority": "former CA",
        "again": True,
        "left": "192.0.2.7",
    }
    certificates = ShardCertificates.read(stored)
    assert certificates == ShardCertificates(
        ca="CA",
        ca_key="CA key",
        certificate="certificate",
        key="key",
        number=3,
        replacement_step=step,  # type: ignore[arg-type]
        next_ca="next CA",
        next_ca_key="next CA key",
        former_ca="former CA",
        replace_again=True,
        removed_addresses="192.0.2.7",
    )
    assert ShardCertificates.read(certificates.stored()) == certificates


async def test_manifests_of_the_previous_release_are_read(store: Store) -> None:
    await downgrade(store, "0040")
    content = {"format": 1, "files": []}
    packed = zlib.compress(json.dumps(content).encode())
    async with store.engine.connect() as connection:
        await connection.execute(text("INSERT INTO backup_manifests VALUES (7, :packed)"), {"packed": packed})
        await connection.commit()
    await store.migrate()
    async with store.read() as session:
        assert await backups.manifest(session, 7) == content
    await downgrade(store, "0040")
    async with store.engine.connect() as connection:
        stored = (await connection.execute(text("SELECT data FROM backup_manifests"))).scalar_one()
    assert bytes(stored) == packed, "the migration can be reverted while values are not encrypted"
    await store.migrate()
