"""Two similar databases, and users with access to only one of them."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for

from shardboard.console import Console
from shardboard.state.alerting import events
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

PASSWORD = "correct horse"
OWN, FOREIGN = 1, 2
SECRET = "zebra"
"""A word that appears in everything about the other database, and nowhere else."""


@pytest.fixture
async def databases(client: httpx.AsyncClient, console: Console, nodes: Any) -> None:
    """Two similar databases, each with a benchmark run, a backup, a restore and two events."""
    for uid, name in ((OWN, "shop"), (FOREIGN, SECRET)):
        body = {
            "name": name,
            "memory_size": 2**30,
            "sharding": True,
            "shards_count": 2,
            "tags": [{"key": "of", "value": name}],
        }
        assert (await client.post("/v1/bdbs", json=body)).status_code == 200
        async with console.store.begin() as session:
            row = await session.get_one(Bdb, uid)
            row.status, row.action_uid = "active", None
            events.record(session, "bdb_updated", f"{name} was changed.", bdb_uid=uid)
            events.record(
                session, "alarm_bdb_size", f"{name} is large.", bdb_uid=uid, severity="WARNING", details={"open": True}
            )
            session.add(_backup(uid, name))
            session.add(_restore(uid, name))
        run = {"name": f"run of {name}", "bdb_uid": uid, "workload": {"test_time": 10}}
        assert (await client.post("/v1/benchmarks", json=run)).status_code == 200


def _backup(uid: int, name: str) -> Backup:
    return Backup(
        bdb_uid=uid,
        bdb_name=name,
        location_name=name,
        path=name,
        kind="backup",
        trigger="manual",
        status="succeeded",
        created_at=datetime.now(UTC),
        finished_at=datetime.now(UTC),
        shards_count=2,
        slots={"0": "0-16383"},
        bdb={},
        originator=name,
        action_uid="",
    )


def _restore(uid: int, name: str) -> Restore:
    return Restore(
        bdb_uid=uid,
        bdb_name=name,
        kind="restore",
        source=name,
        sources=[],
        mode="replace",
        status="succeeded",
        created_at=datetime.now(UTC),
        finished_at=datetime.now(UTC),
        originator=name,
        action_uid="",
    )


async def create_role(client: httpx.AsyncClient, management: str = "db_member", uids: list[int] | None = None) -> int:
    resources = [{"type": "db", "uids": [OWN] if uids is None else uids}] if uids != [] else []
    reply = await client.post(
        "/v1/roles", json={"name": f"of {uids}", "management": management, "resources": resources}
    )
    assert reply.status_code == 200, reply.text
    assert reply.json()["resources"] == resources
    uid: int = reply.json()["uid"]
    return uid


async def create_user(client: httpx.AsyncClient, name: str, **fields: Any) -> dict[str, str]:
    reply = await client.post("/v1/users", json={"email": name, "password": PASSWORD, **fields})
    assert reply.status_code == 200, reply.text
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()}


@asynccontextmanager
async def browser_client(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app_for(console))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as client:
        yield client
