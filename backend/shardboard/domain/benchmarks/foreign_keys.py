"""Keys in a database that no benchmark wrote, found in a sample of its keys."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shardboard.domain.benchmarks import workload
from shardboard.domain.benchmarks.benchmark_cost import Cost, PreflightWarning

CODE = "benchmark_foreign_keys"
COMMAND = ("RANDOMKEY",)
SAMPLES_PER_SHARD = 20
MAX_SHARDS = 16


class Reply(Protocol):
    """Reply of a shard to `COMMAND`."""

    @property
    def ok(self) -> bool: ...
    @property
    def reply(self) -> str: ...


@dataclass(frozen=True)
class KeySample:
    """Result of a sample. The same key can be sampled several times."""

    sampled: int
    foreign: int

    @property
    def share(self) -> float:
        """Share of foreign keys, 0-1."""
        return self.foreign / self.sampled if self.sampled else 0.0


def examine(keys: Collection[str], prefixes: Collection[str]) -> KeySample:
    """Return how many of the sampled keys no benchmark wrote."""
    return KeySample(len(keys), sum(not is_benchmark_key(key, prefixes) for key in keys))


def known_prefixes(specs: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the prefixes of keys that runs with these specs wrote, and the default prefix."""
    phases = (phase["workload"] for spec in specs for phase in spec["phases"])
    return {workload.prefix({})} | {workload.prefix(each) for each in phases if workload.writes(each)}


def is_benchmark_key(key: str, prefixes: Collection[str]) -> bool:
    """Return whether a key consists of a known prefix and a number."""
    return any(key.startswith(prefix) and key.removeprefix(prefix).isdecimal() for prefix in prefixes)


def sampled_keys(replies: Iterable[Reply]) -> list[str]:
    """Return the keys in replies as formatted by the agent. A database without keys has none."""
    texts = (each.reply for each in replies if each.ok and each.reply not in ("None", ""))
    return [text[2:-1] if text.startswith(("b'", 'b"')) else text for text in texts]


def preflight_warnings(sample: KeySample | None, cost: Cost, *, evicts: bool) -> list[PreflightWarning]:
    """Return the warning before a run that writes to a database with foreign keys. `sample` is None if no sample could be taken."""
    if sample is None or not sample.foreign or not cost.keys:
        return []
    consequence = "existing keys can be evicted" if evicts else "writes of applications are rejected"
    text = (
        f"The database contains keys that no benchmark wrote ({100 * sample.share:.0f}% of {sample.sampled} sampled keys). "
        f"The run adds up to {cost.keys:,} keys. It overwrites existing keys with the same names, and if the memory is full, "
        f"{consequence}."
    )
    return [PreflightWarning(CODE, text, blocks=True)]
