"""`shard.json`: what the agent stores about a shard across restarts. Only its user can read the file."""

import os
import shutil
from pathlib import Path

from pydantic import ValidationError

from shardboard.agent.databases import peer_tls, shard_config
from shardboard.agent.databases.flash import Flash
from shardboard.contract import BdbSpec, Message, ShardSpec

FILE = "shard.json"


class ShardRecord(Message):
    """`pid`, `started_at` (epoch seconds, from the kernel) and `run_id` identify the process. `bdb` is stored without peers and
    certificates, because they change.
    """

    spec: ShardSpec
    bdb: BdbSpec
    pid: int | None = None
    started_at: float | None = None
    run_id: str = ""
    engine_version: str = ""
    """Version that the process reports: `9.1.2`."""
    parked_at: float | None = None
    """Time of the request to save and stop, to be started again later; epoch seconds."""

    @classmethod
    def load(cls, directory: Path) -> "ShardRecord | None":
        """Return the record in `directory`; None if there is no complete one."""
        try:
            return cls.model_validate_json((directory / FILE).read_bytes())
        except (OSError, ValidationError):
            return None

    def save(self, directory: Path) -> None:
        """Replace the record atomically. Default values are omitted, so that the previous release can read the file after a
        downgrade.
        """
        _write(directory / (FILE + ".new"), self.model_dump_json(exclude_defaults=True), durable=True)
        (directory / (FILE + ".new")).replace(directory / FILE)

    def create(
        self, root: Path, bdb: BdbSpec, address: str, flash: Flash | None = None, engine_version: str = ""
    ) -> Path:
        """Create the shard's directory. The record is written last, so an interrupted start leaves a directory without one."""
        directory = root / str(self.spec.uid)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        text = shard_config.valkey_conf(bdb, self.spec, address, flash, engine_version)
        _write(directory / "valkey.conf", text)
        if bdb.tls is not None:
            peer_tls.write_certificates(directory, bdb.tls)
        if bdb.cluster:
            spec = self.spec
            text = shard_config.nodes_conf(bdb.peers, spec.engine_id, spec.swap_with, tls=bdb.tls is not None)
            _write(directory / "nodes.conf", text)
        self.save(directory)
        return directory


def _write(path: Path, text: str, *, durable: bool = False) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
