"""The settings of the cluster object (REST reference 3.4), with their defaults and ranges, and the reserved ports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from shardboard.domain import host_names, rules
from shardboard.domain.alerting import alert_settings
from shardboard.domain.cluster.policy import YEAR
from shardboard.domain.data import schedules
from shardboard.domain.rules import ChoiceRule, FlagRule, IntegerRule, ListRule, ObjectRule, TextRule, setting

SYSTEM_RESERVED_PORTS = (
    *(1968, 8000, 8001, 8002, 8004, 8006, 8070, 8071, 8080, 8443, 8444, 9080, 9081, 9091, 9125, 9443, 9700),
    *(10050, 36379),
    *range(3333, 3337),
    *range(3339, 3347),
    *range(3348, 3356),
)

PORT = IntegerRule(1, 65_535)
TLS_VERSION = ChoiceRule(("1.2", "1.3"))


_LOGROTATE = ObjectRule(
    {
        "maxage": IntegerRule(0, 36_500),
        "maxsize": TextRule("a size such as 200M", r"\d{1,9}[kMG]?", 10),
        "rotate": IntegerRule(0, 10_000),
    }
)


class TimeZoneRule(TextRule):
    """The name of a time zone."""

    def validation_error(self, value: Any) -> str:
        return super().validation_error(value) or schedules.time_zone_error(value)


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """All settings are stored and returned. Only `reserved_ports`, `options_method_forbidden`, `slave_ha*`, `smtp_*`, `email_from`,
    `dns_suffix`, `password_*` (except the hashing algorithm), `cm_session_timeout_minutes`, `metrics_max_requests_in_flight` and
    `timezone` have an effect. No mail password is
    stored."""

    alert_settings: dict[str, Any] = field(
        default_factory=alert_settings.defaults, metadata={"rule": alert_settings.CLUSTER}
    )
    availability_lag_tolerance_ms: int = setting(100, IntegerRule(0, 86_400_000))
    bigstore_driver: str = setting("speedb", ChoiceRule(("speedb", "rocksdb")))
    block_cluster_changes: bool = setting(False, FlagRule())
    cm_port: int = setting(8443, PORT)
    cm_session_timeout_minutes: int = setting(720, IntegerRule(1, 525_600))
    control_plane_basic_authentication: bool = setting(True, FlagRule())
    debuginfo_path: str = setting("/tmp", TextRule("an absolute path", "/.*", 4096))  # noqa: S108 - the reference's, never used
    dns_suffix: str = setting("", TextRule("a domain name", rf"|{host_names.NAME}"))
    """Domain with a name `redis-<port>` for each database; empty: there is none, and endpoints are named by address (extension)."""
    email_alerts: bool = setting(False, FlagRule())
    email_from: str = setting("", TextRule("a mail address", rf"|[^\s@,;:<>\"()\[\]\\]{{1,64}}@{host_names.NAME}"))
    encrypt_pkeys: bool = setting(False, FlagRule())
    handle_redirects: bool = setting(False, FlagRule())
    http_support: bool = setting(True, FlagRule())
    logrotate_settings: dict[str, Any] = field(
        default_factory=lambda: {"maxage": 7, "maxsize": "200M", "rotate": 10}, metadata={"rule": _LOGROTATE}
    )
    mask_bdb_credentials: bool = setting(False, FlagRule())
    metrics_max_requests_in_flight: int = setting(0, IntegerRule(0, 1000))
    """Extension: `max_requests_in_flight` of `/v1/metrics_config`; 0 = unlimited."""
    metrics_system: int = setting(0, IntegerRule(0, 1))
    min_control_TLS_version: str = setting("1.2", TLS_VERSION)  # noqa: N815 - the reference's name
    min_data_TLS_version: str = setting("1.2", TLS_VERSION)  # noqa: N815
    min_sentinel_TLS_version: str = setting("1.2", TLS_VERSION)  # noqa: N815
    module_upload_max_size_mb: int = setting(40, IntegerRule(0, 1_000_000))
    multi_commands_opt: str = setting("batch", ChoiceRule(("batch", "auto", "disabled")))
    options_method_forbidden: bool = setting(False, FlagRule())
    password_complexity: bool = setting(False, FlagRule())
    password_expiration_duration: int = setting(0, IntegerRule(0, 36_500))
    password_hashing_algorithm: str = setting("argon2id", ChoiceRule(("argon2id", "SHA-256", "PBKDF2")))
    password_min_length: int = setting(8, IntegerRule(8, 256))
    reserved_ports: list[int] = field(default_factory=list, metadata={"rule": ListRule(PORT, 1000)})
    sentinel_tls_mode: str = setting("allowed", ChoiceRule(("allowed", "required", "disabled")))
    slave_ha: bool = setting(True, FlagRule())
    slave_ha_bdb_cooldown_period: int = setting(7200, IntegerRule(0, YEAR))
    slave_ha_cooldown_period: int = setting(3600, IntegerRule(0, YEAR))
    slave_ha_grace_period: int = setting(600, IntegerRule(0, YEAR))
    smtp_host: str = setting(
        "", TextRule("a host name or address", rf"|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*|{host_names.NAME}\.?")
    )
    smtp_port: int = setting(25, PORT)
    smtp_tls_mode: Literal["none", "starttls", "tls"] = setting("none", ChoiceRule(("none", "starttls", "tls")))
    smtp_username: str = setting("", TextRule("a username"))
    timezone: str = setting("UTC", TimeZoneRule("the name of a time zone", r"[A-Za-z0-9_+/-]+", 64))
    """Extension: `timezone` of `/v1/cm_settings`, for times in emails."""
    use_external_ipv6: bool = setting(True, FlagRule())
    use_ipv6: bool = setting(True, FlagRule())
    wait_command: bool = setting(True, FlagRule())

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings in effect; invalid stored values are replaced by defaults."""
        return cls(**rules.coerced_fields(cls, stored))


NAMES = frozenset(each.name for each in fields(ClusterSettings))


def merged(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings to store. Members of an object that the request leaves out keep their values."""
    current = ClusterSettings.from_stored(stored)
    return {**stored, **{name: rules.merged(getattr(current, name), value) for name, value in changes.items()}}
