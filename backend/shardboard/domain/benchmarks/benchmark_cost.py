"""Estimated effect of a benchmark run on its database, derived from its workloads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.benchmarks import workload
from shardboard.domain.text import size_text

KEY_BYTES = 96
"""Approximate overhead of the engine per key, without name and value."""


@dataclass(frozen=True)
class Cost:
    """Sizes in bytes, for the largest phase."""

    keys: int
    """Maximum number of keys that phases with writes leave behind."""
    memory: int
    is_certain: bool
    """Whether the amount is certain; phases limited by time may write less."""
    seconds: int | None


@dataclass(frozen=True)
class PreflightWarning:
    """A warning before a run. If `blocks`, the request must confirm it with the field `agree`."""

    code: str
    description: str
    blocks: bool
    agree: str = "overwrite"


def cost(phases: Sequence[Mapping[str, Any]], repetitions: int) -> Cost:
    """Return the cost of a run. Phases with different key prefixes write different keys; of phases with the same prefix, the
    largest one counts."""
    sizes_by_prefix: dict[str, tuple[int, float]] = {}
    lengths = []
    for index, phase in enumerate(phases):
        workload_spec = phase["workload"]
        length = workload.seconds(workload_spec)
        lengths.append(length if length is None or index < len(phases) - 1 else length * repetitions)
        if workload.writes(workload_spec):
            prefix = workload.prefix(workload_spec)
            keys = _written_keys(workload_spec)
            each = workload.value_bytes(workload_spec) + KEY_BYTES + len(prefix)
            sizes_by_prefix[prefix] = max(sizes_by_prefix.get(prefix, (0, 0.0)), (keys, keys * each))
    fills_memory = any(
        phase["workload"].get("test_time") is None and workload.writes(phase["workload"]) for phase in phases
    )
    known_lengths = [each for each in lengths if each is not None]
    seconds = sum(known_lengths) if len(known_lengths) == len(lengths) else None
    return Cost(
        sum(keys for keys, _ in sizes_by_prefix.values()),
        round(sum(size for _, size in sizes_by_prefix.values())),
        fills_memory,
        seconds,
    )


def _written_keys(spec: Mapping[str, Any]) -> int:
    """Return the number of keys written: at most the size of the key range, and at most the number of requests."""
    keys, requests = workload.keys(spec), spec.get("requests")
    if spec.get("test_time") is not None or requests == "allkeys":
        return keys
    each = requests or workload.OPTIONS["requests"].default
    clients = [spec.get(name) or workload.OPTIONS[name].default for name in ("clients", "threads")]
    return int(min(keys, each * clients[0] * clients[1]))


def preflight_warnings(
    needed: Cost, *, copies: int, memory_size: int, used: float | None, evicts: bool
) -> list[PreflightWarning]:
    """Return the memory warnings. `memory_size` is the limit of the complete database, 0 for none; `used` is its current usage."""
    if not needed.keys or not memory_size:
        return []
    required_memory = needed.memory * copies
    free = memory_size - (used or 0)
    if required_memory <= free:
        return []
    consequence = "some of its keys will be evicted" if evicts else "writes are rejected (OOM)"
    sizes = (
        f"It may write {size_text(required_memory)} (replicas included), "
        f"but {size_text(max(0, free))} of {size_text(memory_size)} are free"
    )
    return [PreflightWarning("benchmark_memory", f"{sizes}: {consequence}.", blocks=needed.is_certain)]
