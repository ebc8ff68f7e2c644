"""`python engine/tier/oracle [--rounds N] [--seed N]` checks that a server with the tier behaves like a plain server.

Both servers get the same random commands, and every value that can be demoted is demoted continuously. The replies must be
equal. After each round the contents of the plain server, the primary and its replica must be equal too."""

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "testkit"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from world import World


def main() -> int:
    """Run all rounds. Return exit status 1 at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds per kind of server; 7 rounds cover every event")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    for cluster in (False, True):
        world = World(Random(seed), cluster=cluster)
        try:
            for number in range(options.rounds):
                wrong = world.round(number)
                if wrong:
                    print(f"seed {seed}, round {number}, {'cluster' if cluster else 'no cluster'}:")
                    print("\n".join(wrong[:20]))
                    return 1
            print(f"seed {seed}, {'cluster' if cluster else 'no cluster'}: {world.summary()}")
        finally:
            world.close()
    return 0


sys.exit(main())
