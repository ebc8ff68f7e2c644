"""Requests that loops make in place of users (`reconcilers/data/requests.py`, `reconcilers/benchmarks/scenario_requests.py`)."""

import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.contract.locations import Location
from shardboard.domain.access.roles import ManagementRole
from shardboard.domain.data.statuses import BackupTrigger
from shardboard.errors import NotAcceptable
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate
from shardboard.schemas.databases.bdb_requests import BdbCreate
from shardboard.services.access.authorization import Principal
from shardboard.services.benchmarks import benchmark_runs
from shardboard.services.data import backup_keys, backup_retries, backups, locations, restores
from shardboard.services.databases import bdbs
from shardboard.state.benchmarks.benchmark_runs import Benchmark
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.cluster.actions import Action
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb

SYSTEM = Principal("system", ManagementRole.ADMIN)
COPIED_FIELDS = frozenset(
    {"sharding", "shard_key_regex", "hash_slots_policy", "bigstore", "data_internode_encryption", "shards_placement"}
)
"""Fields of a temporary database that are those of the backup's database."""


class LoopRequests:
    """Implements `DataRequests` and `ScenarioRequests`."""

    async def start_backup(self, session: AsyncSession, bdb: Bdb) -> Backup:
        locked = await queue.load_idle_bdb(session, bdb.uid)
        location = await _scheduled_location(session, locked)
        return await backups.request_backup(
            session, locked, location, trigger=BackupTrigger.SCHEDULE, originator=SYSTEM.username
        )

    async def retry_backup(self, session: AsyncSession, bdb: Bdb, backup: Backup) -> Backup:
        locked = await queue.load_idle_bdb(session, bdb.uid)
        location = await _scheduled_location(session, locked)
        return await backup_retries.retry(session, locked, backup, location, SYSTEM.username)

    async def delete_backup(self, session: AsyncSession, backup: Backup) -> None:
        await backups.delete(session, backup.uid, SYSTEM)

    async def create_temporary_database(self, session: AsyncSession, backup: Backup, action: Action) -> Bdb:
        await backup_keys.identities_for(session, backup)
        # A verification must not take memory that other databases of the nodes may need.
        bdb, _ = await bdbs.create(
            session, temporary_database(backup), SYSTEM, allow_duplicate_name=True, may_overbook=False
        )
        bdb.verification_action_uid = action.uid
        bdb.config = {**bdb.config, "internal": True, "traffic_manually_disabled": True}
        return bdb

    async def start_restore(self, session: AsyncSession, bdb: Bdb, backup: Backup, originator: str) -> Restore:
        locked = await queue.load_idle_bdb(session, bdb.uid)
        return await restores.request_restore(
            session, locked, backup.uid, restores.Selection(verify_files=False), originator
        )

    async def delete_database(self, session: AsyncSession, bdb: Bdb) -> None:
        await bdbs.delete(session, bdb.uid, SYSTEM)

    async def create_scenario_database(
        self, session: AsyncSession, run: ScenarioRun, name: str, fields: Mapping[str, Any]
    ) -> Bdb:
        request = BdbCreate.model_validate(
            {**fields, "name": name, "authentication_redis_pass": secrets.token_urlsafe(32)}
        )
        bdb, _ = await bdbs.create(session, request.writable_fields(), _owner(run), may_overbook=False)
        bdb.scenario_run_uid = run.uid
        return bdb

    async def start_scenario_benchmark(
        self, session: AsyncSession, run: ScenarioRun, request: Mapping[str, Any]
    ) -> Benchmark:
        try:
            body = BenchmarkCreate.model_validate(request)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            message = f"The scenario contains an invalid field: {field}: {first['msg']}."
            raise NotAcceptable("invalid_scenario", message) from None
        return await benchmark_runs.create(session, body.model_dump(mode="json"), _owner(run), lambda _: {})


def _owner(run: ScenarioRun) -> Principal:
    """Return the principal of the requests of a run. The role of its originator was checked when the run was requested."""
    return Principal(run.originator, ManagementRole.ADMIN)


async def _scheduled_location(session: AsyncSession, bdb: Bdb) -> BackupLocation | Location:
    location = await locations.of_schedule(session, bdb)
    if location is None:
        message = f"The schedule of database {bdb.name} has no location. Set backup_location_uid or backup_location."
        raise NotAcceptable("missing_backup_location", message, field="backup_location_uid")
    return location


def temporary_database(backup: Backup) -> dict[str, Any]:
    """Return the request for a temporary database: with the same shape, but without replicas, persistence and evictions, and with
    a random password. Raises NotAcceptable if a found manifest has invalid fields of the database.
    """
    stored = backup.bdb
    copies = 2 if stored.get("replication") else 1
    try:
        request = BdbCreate.model_validate(
            {
                **{name: stored[name] for name in COPIED_FIELDS & stored.keys()},
                "name": f"verification-of-backup-{backup.uid}",
                "memory_size": int(stored["memory_size"]) // copies,
                "bigstore_ram_size": int(stored.get("bigstore_ram_size", 0)) // copies if stored.get("bigstore") else 0,
                "shards_count": backup.shards_count,
                "eviction_policy": "noeviction",
                "authentication_redis_pass": secrets.token_urlsafe(32),
            }
        )
    except (KeyError, TypeError, ValueError):
        message = (
            f"The manifest of backup {backup.uid} has no valid fields of the database. Restore it into a new database."
        )
        raise NotAcceptable("backup_not_usable", message) from None
    return request.writable_fields()
