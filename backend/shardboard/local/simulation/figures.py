"""Measured figures of a simulation, as JSON and as a table of text. A figure that was not measured is missing in both."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Resources:
    """Use of the machine during a part of the run, by default while samples were collected. CPU in cores."""

    console_cores: float
    console_megabytes: float
    agents_cores: float
    """Of the process of all simulated agents."""
    other_cores: float
    """Of all other processes of the machine."""
    load_average: float

    @property
    def cpu(self) -> str:
        return (
            f"console {self.console_cores:.2f}, simulated agents {self.agents_cores:.2f}, "
            f"other processes {self.other_cores:.2f} cores"
        )


@dataclass(frozen=True)
class Creation:
    """Creation of one database over all nodes, from the request until it was active."""

    shards: int
    nodes: int
    seconds: float
    resources: Resources | None = None
    """Use of the machine in this time."""


@dataclass(frozen=True)
class Stream:
    """Lines that the console received from the agents, per second."""

    samples: float
    shard_samples: float
    pulses: float
    bytes: float
    latest: float
    """Longest time in seconds from the start of a second until the samples of all nodes were complete. If it is close to 1, the
    simulation itself is at its limit."""


@dataclass(frozen=True)
class Collection:
    """Completeness of the stored samples."""

    missed: int
    """Shard-seconds without a value."""
    expected: int
    lost_agents: int
    """How often the console reported that it lost an agent."""


@dataclass(frozen=True)
class Times:
    """Distribution of a duration, in seconds."""

    name: str
    count: int
    median: float
    p95: float
    worst: float

    @classmethod
    def of(cls, name: str, values: Sequence[float]) -> "Times":
        ordered = sorted(values)
        return cls(name, len(ordered), median(ordered), ordered[ceil(0.95 * len(ordered)) - 1], ordered[-1])


@dataclass
class Figures:
    """All figures of one run."""

    nodes: int
    shards: int
    replicas: bool
    ops: int
    """Simulated requests per second and primary."""
    seconds: int
    store: str
    cores: int
    """Of the machine that runs the simulation."""
    databases: int = 0
    join_seconds: float | None = None
    join_resources: Resources | None = None
    """While the nodes joined."""
    creations: list[Creation] = field(default_factory=list)
    resources: Resources | None = None
    stream: Stream | None = None
    collection: Collection | None = None
    requests: list[Times] = field(default_factory=list)
    failovers: list[Times] = field(default_factory=list)
    failure: str = ""
    """Why the run ended early; empty if it did not."""

    def as_json(self) -> dict[str, Any]:
        """Return the figures without those that were not measured."""
        return {name: value for name, value in asdict(self).items() if value is not None and value not in ([], "")}

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield names and values."""
        yield (
            "Simulated",
            f"{self.nodes:,} nodes, {self.shards:,} shards, {self.databases} databases, {self.ops} ops/s per primary",
        )
        yield "Console", f"one process, {self.store}, on a machine with {self.cores} cores"
        if self.join_seconds is not None:
            yield "All nodes joined", f"{self.join_seconds:.1f} s"
        if self.join_resources is not None:
            yield "CPU while nodes joined", self.join_resources.cpu
        for each in self.creations:
            yield f"Database of {each.shards} shards on {each.nodes} nodes active", f"{each.seconds:.2f} s"
            if each.resources is not None:
                yield "CPU until it was active", each.resources.cpu
        yield from self._collection_rows()
        for times in self.requests:
            yield (
                times.name,
                f"median {1000 * times.median:,.0f} ms, P95 {1000 * times.p95:,.0f} ms ({times.count} requests)",
            )
        for times in self.failovers:
            yield times.name, f"median {times.median:.2f} s, worst {times.worst:.2f} s ({times.count})"
        if self.failure:
            yield "Ended early", self.failure

    def _collection_rows(self) -> Iterator[tuple[str, str]]:
        if (used := self.resources) is not None:
            yield "CPU of the console", f"{used.console_cores:.2f} cores"
            yield "Memory of the console", f"{used.console_megabytes:.0f} MB"
            yield "CPU of the simulated agents", f"{used.agents_cores:.2f} cores"
            yield "CPU of other processes", f"{used.other_cores:.2f} cores, load average {used.load_average:.1f}"
        if (stream := self.stream) is not None:
            yield "Samples received", f"{stream.samples:,.0f}/s, of {stream.shard_samples:,.0f} shards"
            yield "Heartbeats received", f"{stream.pulses:,.0f}/s"
            yield "Bytes received", f"{stream.bytes / 1e6:.2f} MB/s"
            yield "Latest samples of a second", f"{stream.latest:.2f} s after its start"
        if (collected := self.collection) is not None:
            yield "Missed", f"{collected.missed:,} of {collected.expected:,} shard-seconds"
            yield "Agents lost", str(collected.lost_agents)

    def text(self) -> str:
        rows = list(self.rows())
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)
