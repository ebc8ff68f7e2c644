"""Settings objects of the reference: settings with an effect can be changed, others are refused by name."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import rules
from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.domain.cluster.console_backups import MAX_KEPT
from shardboard.domain.cluster.feature_settings import changed_settings
from shardboard.domain.data.schedules import MAX_EXPRESSION
from shardboard.domain.rules import FlagRule, IntegerRule, TextRule
from shardboard.errors import BadRequest, NotAcceptable
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster import cluster as service
from shardboard.services.cluster import console_backups
from shardboard.state.cluster import cluster
from shardboard.state.cluster import console_backups as state

Settings = dict[str, Any]
Read = Callable[[AsyncSession], Awaitable[Settings]]
Write = Callable[[AsyncSession, Mapping[str, Any], Principal], Awaitable[None]]

_FIVE_MINUTES, _HOURLY = "*/5 * * * *", "0 * * * *"
_JOBS: Settings = {
    "backup": {"cron_expression": _FIVE_MINUTES, "enabled": True},
    "bdb_usage_report": {"cron_expression": _HOURLY, "enabled": False, "file_retention_days": 1},
    "cert_rotation": {"cron_expression": _HOURLY, "enabled": True, "expiry_days_before_rotation": 60},
    "log_rotation": {"cron_expression": _FIVE_MINUTES, "enabled": False},
    "node_checks": {"cron_expression": _HOURLY, "enabled": False},
    "redis_cleanup": {"cron_expression": _HOURLY, "enabled": True},
}
"""Fixed jobs. The console does their work when it is due, or not at all."""
CONSOLE_BACKUP = "rotate_ccs_job_settings"
_CONSOLE_BACKUP_RULES = {
    "enabled": FlagRule(),
    "cron_expression": TextRule("a cron expression", max_length=MAX_EXPRESSION),
    "rotate_max_num": IntegerRule(1, MAX_KEPT),
}


@dataclass(frozen=True)
class Feature:
    """A settings object. `reason` explains why its other settings cannot be changed."""

    read: Read
    reason: str
    write: Write | None = None
    writable: frozenset[str] = frozenset()
    code: str = "not_supported"


async def update(
    session: AsyncSession, feature: Feature, requested: Mapping[str, Any], principal: Principal
) -> Settings:
    """Change settings, and return all of them. Raises BadRequest for unknown settings, NotAcceptable for fixed ones."""
    await cluster.load_for_update(session)
    current = await feature.read(session)
    changed = allowed_changes(current, requested, feature.writable, feature.reason, feature.code)
    if changed and feature.write is not None:
        await feature.write(session, changed, principal)
    return await feature.read(session)


def allowed_changes(
    current: Settings,
    requested: Mapping[str, Any],
    writable: frozenset[str],
    reason: str,
    code: str = "not_supported",
) -> Settings:
    """Return the settings that change, by path. Raises BadRequest for unknown settings, NotAcceptable for fixed ones."""
    if current and not requested:
        raise BadRequest("bad_request", f"Send one of these settings: {', '.join(current)}.")
    try:
        changed = changed_settings(current, requested)
    except KeyError as unknown:
        path = str(unknown.args[0])[:128]
        raise BadRequest("bad_request", f"The setting {path} does not exist.", field=path) from None
    if refused := sorted(changed.keys() - writable):
        message = f"{', '.join(refused)[:512]} cannot be changed. {reason}"
        raise NotAcceptable(code, message, field=refused[0][:128])
    return changed


def fixed(settings: Settings, reason: str, code: str = "not_supported") -> Feature:
    """Return a settings object that cannot be changed."""

    async def read(_session: AsyncSession) -> Settings:
        return settings

    return Feature(read, reason, code=code)


async def _read_cm_settings(session: AsyncSession) -> Settings:
    return {"timezone": (await cluster.load(session)).settings.timezone}


async def _write_cluster_settings(session: AsyncSession, changed: Mapping[str, Any], principal: Principal) -> None:
    names = {"max_requests_in_flight": "metrics_max_requests_in_flight"}
    settings = {names.get(name, name): value for name, value in changed.items()}
    for name, error in rules.field_errors(ClusterSettings, settings).items():
        sent = next(each for each in changed if names.get(each, each) == name)
        raise BadRequest("bad_request", f"{sent} {error}.", field=sent)
    await service.update(session, settings, principal)


async def _read_metrics_config(session: AsyncSession) -> Settings:
    return {
        "expose_db_tags": False,
        "key_distribution_enabled": False,
        "key_items_buckets": "",
        "key_size_buckets": "",
        "max_requests_in_flight": (await cluster.load(session)).settings.metrics_max_requests_in_flight,
        "metrics_tag_keys_exposed": [],
    }


async def _read_jobs(session: AsyncSession) -> Settings:
    schedule = await state.load_schedule(session)
    return {
        **{f"{name}_job_settings": settings for name, settings in _JOBS.items()},
        CONSOLE_BACKUP: {
            "cron_expression": schedule.cron if schedule is not None else "30 2 * * *",
            "enabled": schedule is not None,
            "file_suffix": "age",
            "rotate_max_num": schedule.keep if schedule is not None else 30,
        },
    }


async def _write_jobs(session: AsyncSession, changed: Mapping[str, Any], principal: Principal) -> None:
    """Change the schedule of backups of the console."""
    values = {path.removeprefix(f"{CONSOLE_BACKUP}."): value for path, value in changed.items()}
    for name, value in values.items():
        if error := _CONSOLE_BACKUP_RULES[name].validation_error(value):
            path = f"{CONSOLE_BACKUP}.{name}"
            raise BadRequest("bad_request", f"{path} {error}.", field=path)
    current = {**(await _read_jobs(session))[CONSOLE_BACKUP], **values}
    schedule = await state.load_schedule(session)
    if not current["enabled"]:
        if schedule is None:
            message = f"Backups of the console are not scheduled. Send {CONSOLE_BACKUP}.enabled true as well."
            raise NotAcceptable("no_console_backup_schedule", message, field=f"{CONSOLE_BACKUP}.enabled")
        await console_backups.remove_schedule(session, principal)
        return
    location = schedule.location_uid if schedule is not None else await console_backups.default_location(session)
    time_zone = schedule.time_zone if schedule is not None else "UTC"
    cron, keep = current["cron_expression"], current["rotate_max_num"]
    await console_backups.set_schedule(session, location, cron, time_zone, keep, principal)


FEATURES: Mapping[str, Feature] = {
    "cm_settings": Feature(
        _read_cm_settings, "It is the only setting.", _write_cluster_settings, frozenset({"timezone"})
    ),
    "metrics_config": Feature(
        _read_metrics_config,
        "Metrics have no histograms of keys and no tags. `/v1/history/retention` has their retention.",
        _write_cluster_settings,
        frozenset({"max_requests_in_flight"}),
    ),
    "job_scheduler": Feature(
        _read_jobs,
        f"The console does this work when it is due. Only the backups of the console ({CONSOLE_BACKUP}) have a schedule.",
        _write_jobs,
        frozenset(f"{CONSOLE_BACKUP}.{name}" for name in _CONSOLE_BACKUP_RULES),
    ),
    "diagnostics": fixed({}, "Nothing is logged on a schedule."),
    "ocsp": fixed(
        {
            "ocsp_functionality": False,
            "query_frequency": 3600,
            "recovery_frequency": 60,
            "recovery_max_tries": 5,
            "responder_url": "",
            "response_timeout": 1,
        },
        "The console does not query the status of certificates.",
        "ocsp_unsupported_by_capability",
    ),
    "cluster/auditing/db_conns": fixed(
        {
            "audit_address": "",
            "audit_port": 0,
            "audit_protocol": "TCP",
            "audit_reconnect_interval": 1,
            "audit_reconnect_max_attempts": 0,
        },
        "Connections of clients are not audited. The audit log (`/v1/audit`) has the requests to the console.",
        "db_conns_auditing_unsupported_by_capability",
    ),
}
"""Settings objects by path."""
