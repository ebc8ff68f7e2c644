"""A network cut between the console and PostgreSQL is noticed within seconds."""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("SHARDBOARD_TEST_POSTGRES_URL"), reason="needs PostgreSQL (scripts/with-postgres)"
    ),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("nft"), reason="needs root and nftables"),
]

LIMITS = {"statement": 8, "waiting statement": 8, "receiver": 6, "new connection": 12}


def test_cut_is_noticed_within_seconds() -> None:
    command = ["unshare", "--net", sys.executable, "-m", "backend.tests.support.consoles.cut_network"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    seconds = json.loads(result.stdout)
    assert {name: duration for name, duration in seconds.items() if duration > LIMITS[name]} == {}
    assert seconds.keys() == LIMITS.keys()
