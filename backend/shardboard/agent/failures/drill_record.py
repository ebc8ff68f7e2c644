"""Record of a running drill, from which an agent continues it after a restart."""

import logging
import time
from pathlib import Path

from pydantic import ValidationError

from shardboard.contract import Drill
from shardboard.contract.base import Message

log = logging.getLogger(__name__)

DIRECTORY = "drills"


class DrillRecord(Message):
    """A drill, its planned end in epoch seconds, and the proxy process that it affects."""

    drill: Drill
    ends_at: float
    proxy_pid: int | None = None

    @property
    def seconds_left(self) -> float:
        """Not more than the duration, even if the clock was changed."""
        return min(max(self.ends_at - time.time(), 0.0), self.drill.seconds)


class DrillRecords:
    """One file for each drill, named after its id."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / DIRECTORY

    def path(self, drill_id: str) -> Path:
        return self._directory / f"{drill_id}.json"

    def save(self, record: DrillRecord) -> None:
        """Write the record. Only the agent can read it, because it contains the token that ends the drill."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        incomplete = self.path(record.drill.id).with_suffix(".new")
        incomplete.write_text(record.model_dump_json())
        incomplete.replace(self.path(record.drill.id))

    def remove(self, drill_id: str) -> None:
        self.path(drill_id).unlink(missing_ok=True)

    def load(self) -> list[DrillRecord]:
        """Return the drills of an agent that was killed. Unreadable files stay: a watchdog removes a fault only with its record."""
        records = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                records.append(DrillRecord.model_validate_json(path.read_bytes()))
            except (OSError, ValidationError) as error:
                log.warning("drill: record %s is ignored: %s", path, error)
        return records
