"""Restarts parts of a local cluster some seconds after they ended unexpectedly, like systemd."""

from collections.abc import Callable

from shardboard.local.cluster import LocalCluster, LocalError

RESTART_SECONDS = 3.0
MAX_RESTARTS, RESTART_WINDOW_SECONDS = 5, 60.0
"""Maximum number of restarts within so many seconds; beyond that a restart is pointless."""


class ProcessSupervisor:
    """Restarts ended parts of a cluster when they are due."""

    def __init__(self, cluster: LocalCluster, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._say = say
        self._due: dict[str, float] = {}
        self._ends: dict[str, list[float]] = {}

    def restart_due(self, now: float) -> None:
        """Restart what is due. `now` is in seconds of a monotonic clock. Raises LocalError if a part ends too often."""
        for name, child in list(self._cluster.children.items()):
            status = child.poll()
            if status is None:
                continue
            if name not in self._due:
                end_times = [
                    ended_at for ended_at in self._ends.get(name, ()) if now - ended_at < RESTART_WINDOW_SECONDS
                ]
                self._ends[name] = [*end_times, now]
                if len(self._ends[name]) > MAX_RESTARTS:
                    raise LocalError(self._cluster.end_message(name))
                reason = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
                self._say(f"… {self._name(name)} {reason}; restart in {RESTART_SECONDS:.0f} s")
                self._due[name] = now + RESTART_SECONDS
            elif now >= self._due[name]:
                del self._due[name]
                self._cluster.respawn(name)
                self._say(f"  {self._name(name)} restarted")

    def _name(self, name: str) -> str:
        return f"the agent of {name}" if name in self._cluster.addresses else f"the {name}"
