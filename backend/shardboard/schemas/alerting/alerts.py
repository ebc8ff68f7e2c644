"""Models of alerts: their settings, and whether they are raised."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator
from pydantic_core import PydanticCustomError

from shardboard.domain.alerting import alert_settings
from shardboard.domain.alerting.alert_settings import AlertSetting
from shardboard.schemas import json_limits
from shardboard.schemas.optional_fields import OptionalStr, without_none
from shardboard.schemas.row_protocols import EventRow
from shardboard.schemas.timestamps import iso


class Alert(BaseModel):
    model_config = ConfigDict(extra="allow")

    enabled: bool
    state: bool = Field(description="Whether the alert is raised.")
    severity: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
    change_time: str = Field(
        description="When the alert was last raised or ended; otherwise, when its object was created."
    )
    change_value: dict[str, Any] = Field(
        description="Same as `state`; for alerts of nodes and the cluster also `global_threshold`."
    )
    threshold: OptionalStr = Field(description="Threshold in the unit of the alert, for alerts of databases.")


Alerts = dict[str, Alert]


class BdbAlertSetting(BaseModel):
    """Omitted fields keep their values."""

    model_config = ConfigDict(strict=True, extra="forbid")

    enabled: bool | None = None
    threshold: str | None = Field(
        default=None,
        description="Unit: `bdb_size` percent of the memory limit, `throughput` requests per second, `latency` microseconds.",
    )


class BdbAlertSettings(RootModel[dict[str, BdbAlertSetting]]):
    """Settings by alert name."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_plain(cls, body: Any) -> Any:
        json_limits.check_json_value(body)
        return body

    @model_validator(mode="after")
    def _check_thresholds(self) -> Self:
        for name, value in self.settings_by_name().items():
            if (rule := alert_settings.BDB.rules.get(name)) is not None and (error := rule.validation_error(value)):
                raise PydanticCustomError("field", "{field}: {what}", {"field": name, "what": error})
        return self

    def settings_by_name(self) -> dict[str, dict[str, Any]]:
        """Return the settings that were sent, by alert name."""
        return {name: value.model_dump(exclude_none=True) for name, value in self.root.items()}


def render(
    setting: AlertSetting, event: EventRow | None, since: datetime, *, has_own_threshold: bool
) -> dict[str, Any]:
    """Render an alert. `event` is its newest event. `own` is true if the object has its own threshold, not the cluster's."""
    state = setting.enabled and event is not None and event.ended_at is None and bool(event.details.get("open"))
    threshold = None if setting.threshold is None else f"{setting.threshold:.15g}"
    return {
        "enabled": setting.enabled,
        "state": state,
        "severity": event.severity if event is not None else "INFO",
        "change_time": iso((event.ended_at or event.time) if event is not None else since),
        "change_value": {"state": state, **({} if has_own_threshold else without_none(global_threshold=threshold))},
        **(without_none(threshold=threshold) if has_own_threshold else {}),
    }


def render_all(
    settings: Mapping[str, AlertSetting], events: Mapping[str, EventRow], since: datetime, *, has_own_threshold: bool
) -> dict[str, Any]:
    """Render all alerts of an object by alert name. `events` are the newest events by alert name."""
    return {
        name: render(setting, events.get(name), since, has_own_threshold=has_own_threshold)
        for name, setting in settings.items()
    }
