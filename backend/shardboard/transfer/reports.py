"""The files with which a transfer reports to the agent. Each is replaced atomically, so that a reader never sees a part."""

import json
from pathlib import Path
from typing import Any

from shardboard.contract.transfers import ErrorCode, TransferProgress
from shardboard.transfer.secrets import redact
from shardboard.transfer.specification import END, PROGRESS

MAX_ERROR_CHARACTERS = 4_000


class Reports:
    """Reports of one transfer in its directory."""

    def __init__(self, directory: Path, secrets: set[str]) -> None:
        self._directory = directory
        self._secrets = secrets

    def progress(self, progress: TransferProgress) -> None:
        self._replace(PROGRESS, {**progress.model_dump(), "problem": self._message(progress.problem)})

    def result(self, result: dict[str, Any]) -> None:
        for check in result.get("checks", ()):
            check["error"] = self._message(check["error"])
        if "details" in result:  # of recordings: why they ended
            result = {**result, "details": self._message(result["details"])}
        self._replace(END, {"result": result})

    def error(self, code: ErrorCode, message: str) -> None:
        self._replace(END, {"error": self._message(message), "error_code": code})

    def _message(self, text: str) -> str:
        """Return a message that the console can receive and users can read."""
        return redact(text, self._secrets)[:MAX_ERROR_CHARACTERS]

    def _replace(self, name: str, content: dict[str, Any]) -> None:
        temporary = self._directory / f".{name}"
        temporary.write_text(json.dumps(content))
        temporary.rename(self._directory / name)
