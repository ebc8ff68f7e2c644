"""Record of a running drill, from which an agent continues it after a restart."""

import logging
import time
from pathlib import Path

from pydantic import ValidationError

from shardboard.contract import Drill
from shardboard.contract.base import Message
from shardboard.pki.key_files import remove_partial_files, write_private

log = logging.getLogger(__name__)

DIRECTORY = "drills"
BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the id of the current boot of the machine; empty if it is unknown."""
    try:
        return BOOT_ID_FILE.read_text().strip()
    except OSError:
        return ""


class DrillRecord(Message):
    """A drill, its planned end in epoch seconds, the proxy process that it affects, and the boot of the machine."""

    drill: Drill
    ends_at: float
    proxy_pid: int | None = None
    boot_id: str = ""
    """Empty: unknown, for example in a record of an earlier release."""

    @property
    def is_of_earlier_boot(self) -> bool:
        """Whether the machine was restarted since. This has removed the fault: processes, routes, and packet filters."""
        return bool(self.boot_id) and self.boot_id != boot_id()

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
        """Write the record. Only the agent can read it, because it contains the token that ends the drill. Raises OSError."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.path(record.drill.id), record.model_dump_json().encode())

    def remove(self, drill_id: str) -> None:
        self.path(drill_id).unlink(missing_ok=True)

    def load(self) -> list[DrillRecord]:
        """Return the drills of an agent that was killed. Unreadable files stay: a watchdog removes a fault only with its record."""
        remove_partial_files(self._directory)
        records = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                records.append(DrillRecord.model_validate_json(path.read_bytes()))
            except (OSError, ValidationError) as error:
                log.warning("drill: record %s is ignored: %s", path, error)
        return records
