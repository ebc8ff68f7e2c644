"""Test that a secret does not stay in the environment of a process."""

import os
import subprocess
import sys

PROGRAM = """
import os
from pathlib import Path
from shardboard.kit.environment import pop_secret
assert pop_secret("TEST_TOKEN") == "sb1.seçret"
assert pop_secret("TEST_TOKEN") is None
assert pop_secret("TEST_UNSET") is None
assert "TEST_TOKEN" not in os.environ
assert "seçret".encode() not in Path("/proc/self/environ").read_bytes()
assert b"TEST_OTHER=kept" in Path("/proc/self/environ").read_bytes()
assert os.environ["TEST_OTHER"] == "kept"
"""


def test_popped_secret_leaves_the_environment() -> None:
    environment = {**os.environ, "TEST_TOKEN": "sb1.seçret", "TEST_OTHER": "kept"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True)
