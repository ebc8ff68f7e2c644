"""Resources that are not Python code: migrations, the built web UI and the programs of `engine/`.

A wheel contains them in the package (`hatch_build.py`); a checkout has them where they are written or built.
"""

import os
import shutil
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_INSIDE = _PACKAGE / "resources"
_CHECKOUT = _PACKAGE.parents[1]
_IS_CHECKOUT = not _INSIDE.is_dir()

MIGRATIONS = _CHECKOUT / "migrations" if _IS_CHECKOUT else _INSIDE / "migrations"
WEB_UI = _CHECKOUT / "frontend" / "dist" if _IS_CHECKOUT else _INSIDE / "page"
PROGRAMS = _CHECKOUT / "engine" / "target" / "release" if _IS_CHECKOUT else _INSIDE / "programs"
"""Endpoint proxy, load generator, mover and the engine module for flash."""


def program(name: str) -> str | None:
    """Return the absolute path of an executable: from PATH, otherwise the one of this package; None if it does not exist."""
    bundled = PROGRAMS / name
    path = shutil.which(name) or (str(bundled) if os.access(bundled, os.X_OK) else None)
    # Absolute, because it is started in another directory
    return str(Path(path).absolute()) if path is not None else None
