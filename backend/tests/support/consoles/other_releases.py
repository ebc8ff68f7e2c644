"""Sources of other releases: the previous one from the history of the repository, following ones made from the current sources."""

import json
import shutil
import subprocess
from pathlib import Path

from shardboard.contract.protocol import PROTOCOL

ROOT = Path(__file__).parents[4]
PACKAGE = Path("backend", "shardboard")
MIGRATION = '''"""what a following release adds"""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{down_revision}"


def upgrade() -> None:
    op.create_table("added_{revision}", sa.Column("uid", sa.Integer(), primary_key=True))
    for table in ("actions", "bdbs", "cluster", "leadership", "consoles", "events", "nodes", "shards"):
        op.add_column(table, sa.Column("optional_{revision}", sa.String(), nullable=True))
        op.add_column(table, sa.Column("added_{revision}", sa.Integer(), server_default="1", nullable=False))
'''


def previous_release(directory: Path) -> str:
    """Write the sources of the previous release. Return why that is not possible, or an empty string."""
    commit = json.loads((ROOT / "scripts" / "previous-release.json").read_text())["commit"]
    archive = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, str(PACKAGE), "migrations"]
    packed = subprocess.run(archive, capture_output=True, check=False)
    if packed.returncode != 0:
        return f"the history of the repository has no commit {commit}: {packed.stderr.decode().strip()}"
    subprocess.run(["tar", "-x", "-C", str(directory)], input=packed.stdout, check=True)
    return ""


def following_release(directory: Path, releases: int, newest_revision: str) -> None:
    """Write the sources of a release after this one, whose migration adds tables and columns."""
    shutil.copytree(ROOT / PACKAGE, directory / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "migrations", directory / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    protocol = directory / PACKAGE / "contract" / "protocol.py"
    protocol.write_text(
        protocol.read_text().replace(f"\nPROTOCOL = {PROTOCOL}\n", f"\nPROTOCOL = {PROTOCOL + releases}\n")
    )
    for number in range(1, releases + 1):
        names = {"revision": f"next{number}", "down_revision": f"next{number - 1}" if number > 1 else newest_revision}
        (directory / "migrations" / "versions" / f"next{number}.py").write_text(MIGRATION.format(**names))
