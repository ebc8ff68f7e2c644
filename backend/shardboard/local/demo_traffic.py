"""Steady traffic for a local cluster from the load generator: an endless open loop that continues despite errors.

It leaves most of the machine idle, because the demo is for observation, not for load. Requests are sent one by one, so the median
is the duration of one request.
"""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from shardboard.agent.benchmarks import load_generators
from shardboard.kit.addresses import host_port
from shardboard.local.cluster import LocalCluster, LocalError

HostPort = tuple[str, int]
"""Address and port."""
PREFIX = "demo:"
WAVE = "25:90"
"""Varies the rate between 80% and 133% of its setting, in waves of 90 seconds."""
FILL_RATE = 8_000
"""Requests per second that flash can take without rejecting any."""
FILL_SECONDS = 120.0


@dataclass(frozen=True)
class Profile:
    """Which keys and commands to request. A Gaussian distribution prefers some keys, like real traffic."""

    keys: int
    spread: float
    """Standard deviation as a fraction of the number of keys."""
    mix: tuple[tuple[str, int], ...]
    """Commands in the syntax of the load generator, with their weights."""
    size: str
    """Minimum and maximum size of a value in bytes."""
    rate: int
    """Default number of requests per second."""
    fill: bool = False
    """Whether to write all keys once at the start."""


PROFILES = {
    "mixed": Profile(
        60_000,
        1 / 6,
        (
            ("GET __key__", 66),
            ("SET __key__ __data__ EX 120", 7),
            ("SET __key__ __data__ EX 600", 8),
            ("SET __key__ __data__ EX 1800", 7),
            ("INCR count:{__key__}", 5),
            ("EXISTS __key__", 3),
            ("DEL __key__", 2),
            ("PING __key__", 2),
        ),
        "50-700",
        2_000,
    ),
    "flash": Profile(
        60_000,
        1 / 8,
        (("GET __key__", 88), ("SET __key__ __data__", 10), ("EXISTS __key__", 2)),
        "1000-2000",
        1_000,
        fill=True,
    ),
}
"""`flash`: more values than fit in RAM, most of them rarely requested."""


def traffic_arguments(places: Sequence[HostPort], profile: Profile, rate: int, *, follows: bool = True) -> list[str]:
    """Return the arguments of the endless load. With `follows` it uses the cluster that any of `places` knows, otherwise only the
    first place.
    """
    arguments = [*_target(places, profile, follows), "--endless", f"--rate={rate}", f"--rate-wave={WAVE}"]
    arguments += ["--threads=1", "--clients=4", "--distinct-client-seed", "--randomize", "--random-data"]
    arguments += ["--key-pattern=G:G", f"--key-stddev={profile.keys * profile.spread:.0f}"]
    for command, ratio in profile.mix:
        arguments += [f"--command={command}", f"--command-ratio={ratio}", "--command-key-pattern=G"]
    return arguments


def fill_arguments(places: Sequence[HostPort], profile: Profile, *, follows: bool = True) -> list[str]:
    """Return the arguments of the load that writes each key once."""
    arguments = [*_target(places, profile, follows), "--requests=allkeys", "--ratio=1:0", "--key-pattern=P:P"]
    return [*arguments, "--threads=1", "--clients=4", f"--rate={FILL_RATE}", "--retry-on-error", "--random-data"]


def start(
    cluster: LocalCluster,
    name: str,
    places: Sequence[HostPort],
    profile: str = "mixed",
    rate: int | None = None,
    *,
    follows: bool = True,
) -> None:
    """Start the load on a database as the child process `name`. Raises LocalError if the generator is not built.

    Keys that cannot be written at first, for example because a shard is down, do not prevent traffic; the log shows them.
    """
    program = load_generators.find()
    if program is None:
        raise LocalError(f"{load_generators.BINARY} is not built; build it with `make proxy`")
    chosen = PROFILES[profile]
    if chosen.fill:
        log = cluster.log_of(name)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.touch(mode=0o600)
        with log.open("ab") as output, suppress(subprocess.TimeoutExpired):
            command = [program, *fill_arguments(places, chosen, follows=follows)]
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=FILL_SECONDS, check=False
            )
    cluster.spawn(name, traffic_arguments(places, chosen, rate or chosen.rate, follows=follows), program=program)


def _target(places: Sequence[HostPort], profile: Profile, follows: bool) -> list[str]:
    (host, port), *others = places if follows else places[:1]
    seeds = ",".join(host_port(*other) for other in others)
    arguments = [f"--server={host}", f"--port={port}", "--hide-histogram", *(["--cluster-mode"] if follows else [])]
    arguments += [f"--seeds={seeds}"] if seeds else []
    arguments += [f"--key-prefix={PREFIX}", "--key-minimum=1", f"--key-maximum={profile.keys}"]
    return [*arguments, f"--data-size-range={profile.size}"]
