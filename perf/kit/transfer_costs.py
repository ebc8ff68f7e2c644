"""CPU time and memory of transfers, which are processes of an agent."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from shardboard.local.cluster import LocalCluster

MOVER = "shardboard-mover"[:15]
INTERVAL_SECONDS = 0.02


class TransferTime:
    """CPU time of the transfers of the first node since the creation of this object."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._agent = psutil.Process(cluster.children[cluster.addresses[0]].pid)
        self._engines = cluster.engines()
        self._before = self._times()

    def used(self) -> tuple[float, float]:
        """Return CPU seconds of transfers with their movers, and of engines with their forks."""
        # The time of a process counts once its parent has waited for it.
        self._cluster.wait_until(lambda: not _transfers(self._agent.pid), "a transfer did not end")
        transfers, engines = self._times()
        return transfers - self._before[0], engines - self._before[1]

    def _times(self) -> tuple[float, float]:
        own = self._agent.cpu_times()
        engines = (engine.cpu_times() for engine in self._engines)
        return own.children_user + own.children_system, sum(
            each.user + each.system + each.children_user + each.children_system for each in engines
        )


def running_seconds(cluster: LocalCluster) -> float:
    """Return the CPU seconds of the transfers of the first node that run now, with their movers."""
    agent = cluster.children[cluster.addresses[0]].pid
    processes = [pid for transfer in _transfers(agent) for pid in (transfer, *_children(transfer))]
    if not processes:
        raise RuntimeError("no transfer is running")
    times = [psutil.Process(pid).cpu_times() for pid in processes]
    return sum(each.user + each.system for each in times)


class PeakMemory:
    """A context manager that watches the memory of movers of the first node."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._agent = cluster.children[cluster.addresses[0]].pid
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def peak(self) -> int:
        """Return the largest resident memory of a process since the last call, in bytes."""
        peak, self._peak = self._peak, 0
        if not peak:
            raise RuntimeError("no mover was seen")
        return peak

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_SECONDS):
            for transfer in _transfers(self._agent):
                for mover in _children(transfer):
                    with suppress(OSError, StopIteration):
                        self._peak = max(self._peak, _high_water_mark(mover))


def _transfers(agent: int) -> list[int]:
    """Return the transfers of an agent, also those that have ended but that it has not waited for."""
    return [pid for pid in _children(agent) if _name(pid).startswith("python")]


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                yield from map(int, (task / "children").read_text().split())


def _high_water_mark(pid: int) -> int:
    if _name(pid) != MOVER:
        return 0
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
