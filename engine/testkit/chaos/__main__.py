"""`python engine/testkit/chaos [--short] [--seed N] [--modes …] [--clients …] [--events …]`: check the view of client libraries while
shards and proxies fail, move and freeze under their load. See README.md. The exit status is 1 if a flaw was found."""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parent
sys.path[:0] = [str(DIRECTORY), str(DIRECTORY.parent)]

from events import EVENTS
from judge import Judge, Verdict
from lab import wait_for
from world import ENDPOINT, World

from clients import LIBRARIES, Library, Running

from shardboard.local.loopback import claim_network

BINARY = DIRECTORY.parents[1] / "target/release/shardboard-proxy"
# A hidden database is for clients of a single server, an `oss_cluster` database for cluster clients.
KINDS = {"hidden": "plain", "oss_cluster": "cluster"}
QUIET_SECONDS = 1.0


def main() -> int:
    """Run every mode and print a table for each."""
    options = parse()
    libraries = [library for library in LIBRARIES if library.name in options.clients]
    available = [library for library in libraries if library.prepare()]
    for library in libraries:
        if library not in available:
            print(f"{library.name}: skipped, {library.needs} is not installed")
    print(f"seed {options.seed}")
    flaws = 0
    for mode in options.modes:
        verdicts = chaos(mode, available, options.events, random.Random(options.seed))
        flaws += show(mode, verdicts)
    return 1 if flaws else 0


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="only valkey-py, each event once")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--modes", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--clients", nargs="+", default=None, choices=[library.name for library in LIBRARIES])
    parser.add_argument("--events", nargs="+", default=None, choices=list(EVENTS))
    options = parser.parse_args()
    options.clients = options.clients or (["valkey-py"] if options.short else [library.name for library in LIBRARIES])
    options.events = options.events or list(EVENTS) * (1 if options.short else 3)
    return options


def chaos(mode: str, libraries: list[Library], events: list[str], dice: random.Random) -> list[Verdict]:
    """Run one mode: start the clients, trigger the events, stop the clients, and check the lists."""
    clients: list[Running] = []
    chaos_events: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory(prefix="shardboard-chaos-") as logs:
        world = World(mode, claim_network(), BINARY)
        try:
            for number, library in enumerate(libraries):
                address = (world.addresses[number % len(world.addresses)], ENDPOINT)
                clients.append(Running(library, KINDS[mode], address, Path(logs) / library.name))
            for client in clients:
                wait_for(client.is_ready, client.name)
            for event in dice.sample(events, len(events)):
                time.sleep(QUIET_SECONDS)
                start = time.time()
                chaos_events.append((start, event))
                EVENTS[event](world, dice)
                print(f"  {mode}: {event}, recovered after {time.time() - start:.1f} s", flush=True)
            time.sleep(QUIET_SECONDS)
            return [judge(client, world, chaos_events) for client in clients]
        finally:
            for client in clients:
                client.abandon()
            world.close()


def judge(client: Running, world: World, events: list[tuple[float, str]]) -> Verdict:
    """Check the output of one client and its lists."""
    judge = Judge(client.name, client.kind, events)
    try:
        judge.read(client.finish())
    except subprocess.TimeoutExpired:
        judge.verdict.flaws.append("did not exit: a connection is stuck")
        return judge.verdict
    return judge.lists({key: world.held(key) for key in judge.keys})


def show(mode: str, verdicts: list[Verdict]) -> int:
    """Print the table of a mode. Return the number of flaws."""
    print(
        f"\n{mode:<20} {'requests':>9} {'written':>8} {'unknown':>8} {'excused':>8} {'repeated':>9} {'longest':>9}  flaws"
    )
    for verdict in verdicts:
        numbers = f"{verdict.requests:>9} {verdict.acknowledged:>8} {verdict.unconfirmed:>8} {verdict.excused:>8} {verdict.repeated:>9}"
        print(f"{verdict.name:<20} {numbers} {verdict.longest:>7.2f} s  {len(verdict.flaws) or 'none'}")
        for error, count in verdict.errors.most_common(6):
            print(f"    {count:>6} x {error}")
        for flaw in verdict.flaws[:6]:
            print(f"    WRONG: {flaw}")
    print(flush=True)
    return sum(len(verdict.flaws) for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())
