"""`python engine/tier/oracle [--rounds N] [--seed N]`: a server with the tier does what a plain server does.

Both are fed the same random commands while everything that can is demoted all the time. Their replies must be the same,
and after every round so must the content of the plain server, the primary and its replica."""

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from world import World


def main() -> int:
    """Exit status 1 at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each kind of server; seven have all that can happen")
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
            print(f"seed {seed}, {'cluster' if cluster else 'no cluster'}: {world.told()}")
        finally:
            world.close()
    return 0


sys.exit(main())
