"""List of all action steppers and reconciler loops, from which `app.py` assembles the console."""

from typing import Protocol

from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.interfaces import Agents
from shardboard.kit.bus import Bus
from shardboard.lifecycle.supervision import Loop
from shardboard.pki.console_ca import ConsoleCa
from shardboard.reconcilers.access.acl_users import AccessLoop
from shardboard.reconcilers.benchmarks import benchmark_runs, scenario_runs
from shardboard.reconcilers.benchmarks.scenario_requests import ScenarioRequests
from shardboard.reconcilers.cluster import node_actions
from shardboard.reconcilers.cluster.agent_certificates import AgentCertificatesLoop
from shardboard.reconcilers.cluster.console_ca import ConsoleCaLoop
from shardboard.reconcilers.cluster.cpu_pinning import CpuPinningLoop
from shardboard.reconcilers.cluster.peer_firewall import PeerFirewallLoop
from shardboard.reconcilers.cluster.recovery_copies import RecoveryCopiesLoop
from shardboard.reconcilers.cluster.trust_distribution import TrustDistribution
from shardboard.reconcilers.data import backups, inspections, restores
from shardboard.reconcilers.data.backup_retention import BackupRetentionLoop
from shardboard.reconcilers.data.backup_schedules import BackupScheduleLoop
from shardboard.reconcilers.data.cleanup import DataCleanupLoop
from shardboard.reconcilers.data.recordings import RecordingLoop
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.data.temporary_databases import TemporaryDatabaseLoop
from shardboard.reconcilers.data.verifications.scheduled_verifications import ScheduledVerificationLoop
from shardboard.reconcilers.data.verifications.verifications import VerifyBackup
from shardboard.reconcilers.databases import bdbs
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.repair import RepairDatabase
from shardboard.reconcilers.databases.shard_certificates import CertificatesLoop
from shardboard.reconcilers.databases.unknown_nodes import UnknownNodesLoop
from shardboard.reconcilers.databases.unknown_shards import InventoryLoop
from shardboard.reconcilers.failures import (
    drills,
    failover,
    replica_ha,
    replica_recovery,
    shard_restart,
    stale_primaries,
)
from shardboard.reconcilers.failures.elections import ElectionLoop, SinceGap
from shardboard.reconcilers.failures.epochs import EpochLoop
from shardboard.reconcilers.failures.failover import LastOffset
from shardboard.reconcilers.failures.hung_shards import HungShardLoop
from shardboard.reconcilers.loop import ActionLoop, Stepper
from shardboard.reconcilers.placement import moves, resharding
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.reconcilers.placement.switch_back import SwitchBackLoop
from shardboard.store.db import Store


class LoopRequests(DataRequests, ScenarioRequests, Protocol):
    """All requests of loops that users make too."""


def steppers(
    store: Store, agents: Agents, endpoints: Endpoints, last_offset: LastOffset, requests: LoopRequests
) -> dict[str, Stepper]:
    """Return the steppers of all actions, by the name of the action."""
    return {
        **bdbs.steppers(store, agents, endpoints),
        **node_actions.steppers(store, agents),
        ActionName.BACKUP_BDB: backups.BackupBdb(store, agents),
        ActionName.RESTORE_BDB: restores.RestoreBdb(store, agents),
        ActionName.INSPECT_FILES: inspections.InspectFiles(store, agents),
        ActionName.BENCHMARK: benchmark_runs.RunBenchmark(store, agents),
        ActionName.RUN_SCENARIO: scenario_runs.RunScenario(store, requests),
        ActionName.DRILL: drills.DrillStepper(store, agents),
        ActionName.FAILOVER: failover.Failover(store, agents, last_offset),
        ActionName.SHARD_FAILOVER: failover.RequestedFailover(store, agents, last_offset),
        ActionName.MIGRATE_SHARDS: moves.MoveShards(store, agents),
        ActionName.REBALANCE: moves.MoveShards(store, agents),
        ActionName.UPGRADE_BDB: moves.MoveShards(store, agents),
        ActionName.REPLICA_HA: moves.MoveShards(store, agents),
        ActionName.RECOVER_REPLICAS: replica_recovery.RecoverReplicas(store, agents),
        ActionName.RESHARD_BDB: resharding.Reshard(store, agents),
        ActionName.REPAIR_BDB: RepairDatabase(store, agents),
        ActionName.RESTART_SHARDS: shard_restart.Restart(store, agents),
        ActionName.DEMOTE_STALE_PRIMARIES: stale_primaries.DemoteStalePrimaries(store, agents),
        ActionName.SWITCH_BACK: moves.MoveShards(store, agents),
        ActionName.VERIFY_BACKUP: VerifyBackup(store, agents, requests),
    }


async def read_shards(store: Store, bus: Bus, agents: Agents) -> None:
    """Read the shards of all nodes, before requests choose uids and ports: the store may have been restored from a backup."""
    await InventoryLoop(store, bus, agents).read_at_startup()


def leader_loops(
    store: Store,
    bus: Bus,
    agents: Agents,
    ca: ConsoleCa,
    trust: TrustDistribution,
    last_offset: LastOffset,
    seconds_since_gap: SinceGap,
    requests: LoopRequests,
    console_id: str,
) -> list[Loop]:
    """Return the loops of all reconcilers, which only the leading console runs, in the order in which they start.

    `console_id` identifies the console across restarts.
    """
    endpoints = Endpoints(store, bus, agents)
    actions = ActionLoop(store, bus, steppers(store, agents, endpoints, last_offset, requests), console_id)
    return [
        Loop("schedule failovers", failover.FailoverLoop(store, bus).run, vital=True),
        Loop("run actions", actions.run, vital=True),
        Loop("update proxies", endpoints.run),
        Loop("update users on shards", AccessLoop(store, bus, agents).run),
        Loop("renew agent certificates", AgentCertificatesLoop(store, bus, agents, ca).run),
        Loop("send trusted CAs to agents", ConsoleCaLoop(store, bus, ca, trust).run),
        Loop("send addresses of nodes to agents", PeerFirewallLoop(store, bus, agents).run),
        Loop("send CPU pinning to agents", CpuPinningLoop(store, bus, agents).run),
        Loop("send copies for a recovery to agents", RecoveryCopiesLoop(store, bus, agents, ca).run),
        Loop("renew shard certificates", CertificatesLoop(store, bus, agents, endpoints).run),
        Loop("record elections", ElectionLoop(store, bus, seconds_since_gap).run),
        Loop("remove unknown nodes", UnknownNodesLoop(store, bus, agents).run),
        Loop("watch epochs", EpochLoop(store, agents).run),
        Loop("kill hung shards", HungShardLoop(store, bus, agents).run),
        Loop("recover replicas", replica_recovery.ReplicaRecoveryLoop(store, bus).run),
        Loop("restart primaries", shard_restart.RestartLoop(store, bus).run),
        Loop("demote stale primaries", stale_primaries.StalePrimaryLoop(store, bus).run),
        Loop("rebuild lost replicas", replica_ha.ReplicaHaLoop(store, bus).run),
        Loop("switch back to primaries", SwitchBackLoop(store, bus).run),
        Loop("start scheduled backups", BackupScheduleLoop(store, bus, requests).run),
        Loop("record changes", RecordingLoop(store, bus, agents, requests).run),
        Loop("delete old backups", BackupRetentionLoop(store, bus, requests).run),
        Loop("schedule verifications of backups", ScheduledVerificationLoop(store, bus).run),
        Loop("delete temporary databases", TemporaryDatabaseLoop(store, bus, requests).run),
        Loop("remove shards", RemovalLoop(store, bus, agents, endpoints.update).run),
        Loop("remove transfers and files of backups", DataCleanupLoop(store, bus, agents).run),
        Loop("compare shards with the store", InventoryLoop(store, bus, agents).run),
    ]


def shared_loops(store: Store, bus: Bus, agents: Agents, ca: ConsoleCa) -> list[Loop]:
    """Return the loops that every console runs."""
    certificates = AgentCertificatesLoop(store, bus, agents, ca)
    return [Loop("reject certificates of removed nodes", certificates.run_rejections)]
