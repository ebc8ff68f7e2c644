"""The cluster and its policy: defaults of the REST reference (3.4) as data, requests and replies."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from shardboard.schemas import plain
from shardboard.schemas.rows import ClusterRow
from shardboard.schemas.times import iso

SYSTEM_RESERVED_PORTS = (
    *(
        1968,
        8000,
        8001,
        8002,
        8004,
        8006,
        8070,
        8071,
        8080,
        8443,
        8444,
        9080,
        9081,
        9091,
        9125,
        9443,
        9700,
        10050,
        36379,
    ),
    *range(3333, 3337),
    *range(3339, 3347),
    *range(3348, 3356),
)

CLUSTER_DEFAULTS: dict[str, Any] = {
    "alert_settings": {
        "cluster_ca_cert_about_to_expire": {"enabled": True, "threshold": "90"},
        "cluster_certs_about_to_expire": {"enabled": True, "threshold": "45"},
        "cluster_license_about_to_expire": {"enabled": True, "threshold": "7"},
        "cluster_node_operation_failed": True,
        "cluster_ocsp_query_failed": True,
        "cluster_ocsp_status_revoked": True,
        "node_checks_error": True,
        "node_ephemeral_storage": {"enabled": True, "threshold": "70"},
        "node_free_flash": {"enabled": True, "threshold": "70"},
        "node_internal_certs_about_to_expire": {"enabled": True, "threshold": "45"},
        "node_persistent_storage": {"enabled": True, "threshold": "70"},
    },
    "availability_lag_tolerance_ms": 100,
    "bigstore_driver": "speedb",
    "block_cluster_changes": False,
    "cm_port": 8443,
    "cm_session_timeout_minutes": 15,
    "control_plane_basic_authentication": True,
    "debuginfo_path": "/tmp",  # noqa: S108 - the reference's value, nothing is written there
    "email_alerts": False,
    "email_from": "",
    "encrypt_pkeys": False,
    "handle_redirects": False,
    "http_support": True,
    "logrotate_settings": {"maxage": 7, "maxsize": "200M", "rotate": 10},
    "mask_bdb_credentials": False,
    "metrics_system": 0,
    "min_control_TLS_version": "1.2",
    "min_data_TLS_version": "1.2",
    "min_sentinel_TLS_version": "1.2",
    "module_upload_max_size_mb": 40,
    "multi_commands_opt": "batch",
    "options_method_forbidden": False,
    "password_complexity": False,
    "password_expiration_duration": 0,
    "password_hashing_algorithm": "argon2id",
    "password_min_length": 8,
    "rack_aware": False,
    "reserved_ports": [],
    "sentinel_tls_mode": "allowed",
    "slave_ha": True,
    "slave_ha_bdb_cooldown_period": 7200,
    "slave_ha_cooldown_period": 3600,
    "slave_ha_grace_period": 600,
    "smtp_host": "",
    "smtp_port": 25,
    "smtp_tls_mode": "none",
    "smtp_username": "",
    "use_external_ipv6": True,
    "use_ipv6": True,
    "wait_command": True,
}
"""Kept and sent back; `reserved_ports` and `options_method_forbidden` have an effect. No mail password is stored."""

POLICY_DEFAULTS: dict[str, Any] = {
    "actions_keep_days": 30,  # ours: finished ones; 0 = for ever
    "events_keep_days": 90,  # ours: those that are over; 0 = for ever
    "drills_enabled": False,  # ours: faults on demand are for rehearsals, not for production
    "acl_pubsub_default": "resetchannels",
    "auto_recovery": True,  # the reference's default is False; a database with persistence is meant to come back
    "automatic_node_offload": True,
    "bigstore_migrate_node_threshold": 8,
    "bigstore_migrate_node_threshold_p": 0,
    "bigstore_provision_node_threshold": 12,
    "bigstore_provision_node_threshold_p": 0,
    "data_internode_encryption": False,
    "db_conns_auditing": False,
    "default_bigstore_version": 1,
    "default_fork_evict_ram": True,
    "default_non_sharded_proxy_policy": "single",
    "default_oss_cluster": False,
    "default_oss_sharding": False,
    "default_provisioned_redis_version": "7.2",
    "default_recovery_wait_time": -1,
    "default_sharded_proxy_policy": "single",
    "default_shards_placement": "dense",
    "default_tracking_table_max_keys_policy": 1000000,
    "endpoint_rebind_propagation_grace_time": 15,
    "failure_detection_sensitivity": "high",
    "resharding_pace": "gentle",  # ours: whether slots move at the pace that clients bear, or as fast as they can
    "login_lockout_counter_reset_after": 900,
    "login_lockout_duration": 1800,
    "login_lockout_threshold": 5,
    "master_healthcheck_api_auth": True,
    "max_redis_forks": 0,
    "max_saved_events_per_type": 5000,
    "max_simultaneous_backups": 4,
    "max_slave_full_syncs": 0,
    "metrics_auth": True,
    "metrics_exporter_expose_bdb_name": False,
    "oss_cluster_api_preferred_endpoint_type": "ip",
    "oss_cluster_api_preferred_ip_type": "internal",
    "parallel_shards_upgrade": 0,
    "persistent_node_removal": False,
    "primaries_return": False,  # ours: primaries go back to their node once it is back and in sync
    "rack_aware": False,
    "redis_migrate_node_threshold": 4,
    "redis_migrate_node_threshold_p": 0,
    "redis_provision_node_threshold": 8,
    "redis_provision_node_threshold_p": 0,
    "redis_upgrade_policy": "major",
    "repl_diskless": True,
    "replication_lag_alarm_bytes": 64 << 20,  # ours: a replica that is further behind is told of
    "resp3_default": True,
    "shards_overbooking": True,
    "show_internals": False,
    "show_metrics_during_state_machine": True,
    "slave_ha": True,
    "slave_ha_bdb_cooldown_period": 7200,
    "slave_ha_cooldown_period": 3600,
    "slave_ha_grace_period": 600,
    "slow_log_max_len": 1024,
    "use_librdb": True,
}
"""The default_* fields and `shards_overbooking` decide about new databases; the rest is kept and sent back."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "default_shards_placement": ("dense", "sparse"),
    "default_sharded_proxy_policy": ("single", "all-master-shards", "all-nodes"),
    "default_non_sharded_proxy_policy": ("single", "all-master-shards", "all-nodes"),
    "failure_detection_sensitivity": ("high", "low"),
    "resharding_pace": ("gentle", "fast"),
}

_NOT_NEGATIVE = (
    "actions_keep_days",
    "events_keep_days",
    "max_saved_events_per_type",
    "max_slave_full_syncs",
    "replication_lag_alarm_bytes",
)


class _Settings(BaseModel):
    """A partial update of a table of defaults: known names only change with a value of their own type."""

    model_config = ConfigDict(strict=True, extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _check_plain(cls, body: Any) -> Any:
        for name, value in body.items() if isinstance(body, dict) else ():
            try:
                plain.check(value)
            except ValueError as fault:
                raise _fault(name, str(fault)) from None
        return body

    def changes(self) -> dict[str, Any]:
        return {**self.model_dump(exclude_unset=True)}

    def _check_types(self, defaults: dict[str, Any]) -> None:
        for name, value in (self.model_extra or {}).items():
            if name in defaults and type(value) is not type(defaults[name]):
                raise _fault(name, f"must be like {defaults[name]!r}")


class ClusterUpdate(_Settings):
    """Fields of the cluster to change. Read-only and unknown ones are ignored."""

    reserved_ports: list[int] = Field(default=[], max_length=1000, description="Ports that no database may get.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_types(CLUSTER_DEFAULTS)
        return self

    def changes(self) -> dict[str, Any]:
        return {name: value for name, value in super().changes().items() if name in CLUSTER_DEFAULTS}


class PolicyUpdate(_Settings):
    """Fields of the policy to change. Unknown ones are ignored."""

    shards_overbooking: bool = Field(default=True, description="Databases may be promised more memory than nodes have.")
    default_shards_placement: str = "dense"

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_types(POLICY_DEFAULTS)
        for name, choices in _CHOICES.items():
            if name in self.model_fields_set and getattr(self, name) not in choices:
                raise _fault(name, f"must be one of {', '.join(choices)}")
        for name in _NOT_NEGATIVE:
            if (self.model_extra or {}).get(name, 0) < 0:
                raise _fault(name, "must not be negative")
        return self

    def changes(self) -> dict[str, Any]:
        return {name: value for name, value in super().changes().items() if name in POLICY_DEFAULTS}


class Cluster(BaseModel):
    """The fields used most; replies carry those of the REST reference."""

    model_config = ConfigDict(extra="allow")

    name: str
    created_time: str
    cnm_https_port: int
    cnm_http_port: int
    reserved_ports: list[int]
    rack_aware: bool
    slave_ha: bool
    shards_overbooking: bool = Field(description="Copy of the policy.")


class Policy(BaseModel):
    model_config = ConfigDict(extra="allow")

    shards_overbooking: bool
    default_shards_placement: str
    default_sharded_proxy_policy: str
    default_non_sharded_proxy_policy: str


def policy_of(cluster: ClusterRow) -> dict[str, Any]:
    """The policy in force: what was changed over the defaults."""
    return {**POLICY_DEFAULTS, **cluster.policy}


def settings_of(cluster: ClusterRow) -> dict[str, Any]:
    return {**CLUSTER_DEFAULTS, **cluster.config}


def reserved_ports_of(cluster: ClusterRow) -> set[int]:
    """Ports that no database may have."""
    return {*SYSTEM_RESERVED_PORTS, *settings_of(cluster)["reserved_ports"]}


def render(cluster: ClusterRow, *, https_port: int, http_port: int) -> dict[str, Any]:
    """All fields."""
    policy = policy_of(cluster)
    return {
        "name": cluster.name,
        "created_time": iso(cluster.created_at),
        **settings_of(cluster),
        "cnm_https_port": https_port,
        "cnm_http_port": http_port,
        "system_reserved_ports": sorted(SYSTEM_RESERVED_PORTS),
        "default_shards_placement": policy["default_shards_placement"],
        "default_sharded_proxy_policy": policy["default_sharded_proxy_policy"],
        "default_non_sharded_proxy_policy": policy["default_non_sharded_proxy_policy"],
        "shards_overbooking": policy["shards_overbooking"],
        "upgrade_in_progress": False,
        "upgrade_mode": False,
    }


def _fault(name: str, what: str) -> PydanticCustomError:
    return PydanticCustomError("field", "{field} {what}", {"field": name, "what": what})
