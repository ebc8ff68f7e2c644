"""Names and statuses of actions and of their steps. All values are stored and returned by the API."""

from enum import StrEnum


class ActionName(StrEnum):
    """State machines. Names that are not used by the Redis Enterprise REST API have the same form."""

    CREATE_BDB = "SMCreateBDB"
    DELETE_BDB = "SMDeleteBDB"
    UPDATE_BDB = "SMUpdateBDB"
    FLUSH_BDB = "SMFlushBDB"
    BACKUP_BDB = "SMBackupBDB"
    """Also exports."""
    RESTORE_BDB = "SMRestoreBDB"
    """Also imports."""
    INSPECT_FILES = "SMInspectFiles"
    """Reads files before an import."""
    VERIFY_BACKUP = "SMVerifyBackup"
    """Restores a backup into a temporary database."""
    UPGRADE_BDB = "SMUpgradeBDB"
    RESHARD_BDB = "SMReshardBDB"
    RESET_ADMIN_PASSWORD = "SMResetAdminPassword"  # noqa: S105 - the name of an action
    STOP_TRAFFIC = "SMStopTraffic"
    RESUME_TRAFFIC = "SMResumeTraffic"
    MIGRATE_SHARDS = "SMMigrateShards"
    REBALANCE = "SMRebalance"
    SWITCH_BACK = "SMSwitchBack"
    FAILOVER = "SMFailover"
    """Requested by the console when primaries are lost."""
    SHARD_FAILOVER = "SMShardFailover"
    """Requested by users."""
    RESTART_SHARDS = "SMRestartShards"
    REPAIR_BDB = "SMRepairBDB"
    RECOVER_REPLICAS = "SMRecoverReplicas"
    REPLICA_HA = "SMReplicaHA"
    DEMOTE_STALE_PRIMARIES = "SMDemoteStalePrimaries"
    NODE_MAINTENANCE_ON = "SMNodeMaintenanceOn"
    NODE_MAINTENANCE_OFF = "SMNodeMaintenanceOff"
    NODE_SWITCH_OVER = "SMNodeEnslave"
    NODE_REMOVE = "SMNodeRemove"
    DRILL = "SMDrill"
    BENCHMARK = "SMBenchmark"
    RUN_SCENARIO = "SMRunScenario"
    """Creates databases and runs benchmarks on them, as a publication describes."""

    @property
    def stored_names(self) -> frozenset[str]:
        """Return this name and its names in stores of earlier releases."""
        return frozenset({self, *(former for former, name in FORMER_NAMES.items() if name is self)})


FORMER_NAMES = {
    "SMReturnPrimaries": ActionName.SWITCH_BACK,
    "SMReviveReplicas": ActionName.RECOVER_REPLICAS,
    "SMDemoteRivals": ActionName.DEMOTE_STALE_PRIMARIES,
}
"""Names of earlier releases, which stored actions still have."""

FORMER_PARAMETERS = {
    "at_once": "concurrent_databases",
    "begun": "saved_times",
    "handovers": "failed_handovers",
    "leaving": "removed_shards",
    "newcomers": "new_shards",
    "pairs_at_once": "concurrent_pairs",
    "rest_until": "pause_until",
    "stay": "staying",
    "wanted": "desired",
}
"""Keys of `Action.params` in earlier releases, which stored actions still have."""

SWITCHOVER_ACTIONS = frozenset(
    {
        ActionName.SHARD_FAILOVER,
        ActionName.MIGRATE_SHARDS,
        ActionName.REBALANCE,
        ActionName.SWITCH_BACK,
        ActionName.RESHARD_BDB,
        ActionName.UPGRADE_BDB,
        ActionName.NODE_MAINTENANCE_ON,
        ActionName.NODE_MAINTENANCE_OFF,
        ActionName.NODE_SWITCH_OVER,
        ActionName.NODE_REMOVE,
    }
)
"""Actions that change roles intentionally."""


def current_name(name: str) -> str:
    """Return the name of this release for a stored name. Names that no release knows stay as they are."""
    return FORMER_NAMES.get(name, name)


class ActionStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATUSES = (ActionStatus.QUEUED, ActionStatus.RUNNING)


class StepStatus(StrEnum):
    """Status of one step of an action."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def step_status(position: int, current: int) -> StepStatus:
    """Return the status of a step while the step at position `current` is running."""
    if position == current:
        return StepStatus.RUNNING
    return StepStatus.COMPLETED if position < current else StepStatus.PENDING
