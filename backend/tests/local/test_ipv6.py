"""A cluster on a machine without IPv4: console, agents, databases and their clients in a network namespace."""

import subprocess
import sys
from pathlib import Path

import pytest

ADDRESSES = ("fd00::10", "fd00::11", "fd00::12")
NAMESPACE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
SETUP = """
ip link set lo up
ip addr flush dev lo
ip -6 addr add ::1/128 dev lo
for address in "$@"; do ip -6 addr add $address/128 dev lo nodad; done
exec "$PYTHON" -m backend.tests.support.ipv6_cluster "$DIRECTORY" "$@"
"""


@pytest.mark.slow
@pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode != 0,
    reason="cannot create a network namespace on this machine",
)
def test_cluster_works_without_ipv4(tmp_path: Path) -> None:
    """The steps are in `support/ipv6_cluster.py`, which runs inside the namespace."""
    result = subprocess.run(
        [*NAMESPACE, "env", f"PYTHON={sys.executable}", f"DIRECTORY={tmp_path}", "sh", "-ec", SETUP, "sh", *ADDRESSES],
        capture_output=True,
        text=True,
        check=False,
        timeout=140,
    )
    assert (result.returncode, result.stderr[-2000:]) == (0, "")
    assert result.stdout.split() == ["joined", "sharded", "resharded", "hidden", "failed-over"]
