"""The agent runs with more weight than the processes that it starts."""

import os
import subprocess
import sys

import pytest

from shardboard.agent.cluster.agent_priority import NICE

AGENT = """
import os, subprocess, sys
from shardboard.agent.cluster.agent_priority import at_normal_priority, raise_priority
raise_priority()
command = [sys.executable, "-c", "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"]
child = at_normal_priority(subprocess.Popen, command, stdout=subprocess.PIPE, text=True)
print(os.getpriority(os.PRIO_PROCESS, 0), child.communicate()[0])
"""


def may_raise() -> bool:
    """Return whether this process may raise priorities, in a child so that it is not changed itself."""
    code = f"import os; os.setpriority(os.PRIO_PROCESS, 0, {NICE})"
    return not subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL, check=False).returncode


def test_the_processes_of_the_agent_keep_the_initial_priority() -> None:
    own_priority, child = subprocess.check_output([sys.executable, "-c", AGENT], text=True).split()
    initial = os.getpriority(os.PRIO_PROCESS, 0)
    assert int(child) == initial
    assert int(own_priority) == (min(NICE, initial) if may_raise() else initial)


@pytest.mark.skipif(not may_raise(), reason="needs the right to raise priorities, to lose it")
def test_an_agent_without_privileges_starts_its_processes() -> None:
    command = ["setpriv", "--bounding-set=-sys_nice", sys.executable, "-c", AGENT]
    own_priority, child = subprocess.check_output(command, text=True).split()
    assert own_priority == child == str(os.getpriority(os.PRIO_PROCESS, 0))
