"""The settings of the cluster object (REST reference 3.4), with their defaults and ranges, and the reserved ports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from shardboard.domain import alert_settings, rules
from shardboard.domain.policy import YEAR
from shardboard.domain.rules import Flag, ListOf, Members, OneOf, Text, Whole, ruled

SYSTEM_RESERVED_PORTS = (
    *(1968, 8000, 8001, 8002, 8004, 8006, 8070, 8071, 8080, 8443, 8444, 9080, 9081, 9091, 9125, 9443, 9700),
    *(10050, 36379),
    *range(3333, 3337),
    *range(3339, 3347),
    *range(3348, 3356),
)

PORT = Whole(1, 65_535)
TLS_VERSION = OneOf(("1.2", "1.3"))


_LOGROTATE = Members(
    {
        "maxage": Whole(0, 36_500),
        "maxsize": Text("a size such as 200M", r"\d{1,9}[kMG]?", 10),
        "rotate": Whole(0, 10_000),
    }
)


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """All settings are stored and returned. Only `reserved_ports`, `options_method_forbidden`, `slave_ha*`, `smtp_*`, `email_from`,
    `password_*` (except the hashing algorithm) and `cm_session_timeout_minutes` have an effect. No mail password is stored."""

    alert_settings: dict[str, Any] = field(
        default_factory=alert_settings.defaults, metadata={"rule": alert_settings.CLUSTER}
    )
    availability_lag_tolerance_ms: int = ruled(100, Whole(0, 86_400_000))
    bigstore_driver: str = ruled("speedb", OneOf(("speedb", "rocksdb")))
    block_cluster_changes: bool = ruled(False, Flag())
    cm_port: int = ruled(8443, PORT)
    cm_session_timeout_minutes: int = ruled(720, Whole(1, 525_600))
    control_plane_basic_authentication: bool = ruled(True, Flag())
    debuginfo_path: str = ruled("/tmp", Text("an absolute path", "/.*", 4096))  # noqa: S108 - the reference's, never used
    email_alerts: bool = ruled(False, Flag())
    email_from: str = ruled("", Text("a mail address", r"|[^\s@]+@[^\s@]+"))
    encrypt_pkeys: bool = ruled(False, Flag())
    handle_redirects: bool = ruled(False, Flag())
    http_support: bool = ruled(True, Flag())
    logrotate_settings: dict[str, Any] = field(
        default_factory=lambda: {"maxage": 7, "maxsize": "200M", "rotate": 10}, metadata={"rule": _LOGROTATE}
    )
    mask_bdb_credentials: bool = ruled(False, Flag())
    metrics_system: int = ruled(0, Whole(0, 1))
    min_control_TLS_version: str = ruled("1.2", TLS_VERSION)  # noqa: N815 - the reference's name
    min_data_TLS_version: str = ruled("1.2", TLS_VERSION)  # noqa: N815
    min_sentinel_TLS_version: str = ruled("1.2", TLS_VERSION)  # noqa: N815
    module_upload_max_size_mb: int = ruled(40, Whole(0, 1_000_000))
    multi_commands_opt: str = ruled("batch", OneOf(("batch", "auto", "disabled")))
    options_method_forbidden: bool = ruled(False, Flag())
    password_complexity: bool = ruled(False, Flag())
    password_expiration_duration: int = ruled(0, Whole(0, 36_500))
    password_hashing_algorithm: str = ruled("argon2id", OneOf(("argon2id", "SHA-256", "PBKDF2")))
    password_min_length: int = ruled(8, Whole(8, 256))
    rack_aware: bool = ruled(False, Flag())
    reserved_ports: list[int] = field(default_factory=list, metadata={"rule": ListOf(PORT, 1000)})
    sentinel_tls_mode: str = ruled("allowed", OneOf(("allowed", "required", "disabled")))
    slave_ha: bool = ruled(True, Flag())
    slave_ha_bdb_cooldown_period: int = ruled(7200, Whole(0, YEAR))
    slave_ha_cooldown_period: int = ruled(3600, Whole(0, YEAR))
    slave_ha_grace_period: int = ruled(600, Whole(0, YEAR))
    smtp_host: str = ruled("", Text("a host name or address", r"[A-Za-z0-9.:_-]*"))
    smtp_port: int = ruled(25, PORT)
    smtp_tls_mode: Literal["none", "starttls", "tls"] = ruled("none", OneOf(("none", "starttls", "tls")))
    smtp_username: str = ruled("", Text("a user name"))
    use_external_ipv6: bool = ruled(True, Flag())
    use_ipv6: bool = ruled(True, Flag())
    wait_command: bool = ruled(True, Flag())

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings in effect; invalid stored values are replaced by defaults."""
        return cls(**rules.mended(cls, stored))


NAMES = frozenset(known.name for known in fields(ClusterSettings))


def merged(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings to store. Members of an object that the request leaves out keep their values."""
    present = ClusterSettings.of(stored)
    return {**stored, **{name: rules.merged(getattr(present, name), value) for name, value in changes.items()}}
