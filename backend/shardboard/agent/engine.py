"""Which valkey-server this agent runs, and its version."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


def engine_path(name: str) -> str | None:
    """The binary of that name or path; None when there is none.

    A bare name is looked for beside the running Python first, where the set-up links the engine that it built, then on PATH.
    """
    beside = Path(sys.executable).parent / name
    if os.sep not in name and os.access(beside, os.X_OK):
        return str(beside)
    return shutil.which(name)


def engine_version(name: str) -> str:
    """`9.1.2` of `valkey-server --version`, or "" when it cannot be run."""
    path = engine_path(name)
    return next((word[2:] for word in version_text(path).split() if word.startswith("v=")), "")


def version_text(path: str | None) -> str:
    """What a program says to --version, or "" when there is none or it cannot be run."""
    if path is None:
        return ""
    try:
        return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def counts_by_slot(version: str) -> bool:
    """Whether an engine may be told to count processor time and bytes of each slot; an unknown one may not.

    Valkey 8 has that setting, and with it a replica of 8.0.1 that is promoted ends with an assertion in `cluster_slot_stats.c`.
    """
    series = re.match(r"\d+", version)
    return series is not None and int(series[0]) >= 9
