"""`python engine/testkit/conformance`: send the same commands to a server and through the proxy, and compare the replies byte by byte.

The reference is a single server without cluster mode, because a hidden database looks like one. It is compared with the proxy
for another single server, and with the proxy for three shards in cluster mode, where keys share a hash tag as required by the
engine. README.md lists the intended differences and the commands that `cases.py` skips because of them. The exit status is 1 if
there are other differences."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import cases
from lab import Lab, Proxy
from speaker import Speaker

from shardboard.local.loopback import claim_network

ADDRESS = f"{claim_network()}.2"
SINGLE, DIRECT = 21970, 21971
CROSSSLOT = b"-CROSSSLOT Keys in request don't hash to the same slot\r\n"
SHARDS = [21972, 21973, 21974]


def main() -> int:
    """Run all cases with both protocols."""
    binary = Path(__file__).resolve().parents[2] / "target/release/shardboard-proxy"
    lab = Lab(ADDRESS)
    try:
        for port in (SINGLE, DIRECT):
            lab.server(port)
        proxy = Proxy(lab, binary)
        base = {"address": ADDRESS, "mode": "hidden", "version": 1}
        single = {**base, "uid": 1, "port": 12970, "sharded": False, "shards": [lab.shard(SINGLE, "primary", [])]}
        sharded = {**base, "uid": 2, "port": 12971, "shards": lab.cluster(SHARDS)}
        proxy.apply(single, sharded)
        table = Speaker(ADDRESS, DIRECT).ask("COMMAND")
        different = 0
        for resp3 in (False, True):
            for name, port in (("one server", 12970), ("three shards", 12971)):
                count, wrong_count, crossslot = compare(list(cases.all_cases(table)), port, resp3)
                different += wrong_count + (crossslot if port == 12970 else 0)
                protocol = 3 if resp3 else 2
                print(f"{name}, RESP{protocol}: {count} commands, {wrong_count} replies differ, {crossslot} CROSSSLOT")
        return 1 if different else 0
    finally:
        lab.close()


def compare(groups: list[list[list[str]]], port: int, resp3: bool) -> tuple[int, int, int]:
    """Compare the replies of all groups. Each group starts with an empty database."""
    direct, through = Speaker(ADDRESS, DIRECT), Speaker(ADDRESS, port)
    count = wrong_count = crossslot = 0
    for speaker in (direct, through):
        if resp3:
            speaker.raw("HELLO", "3")
    for group in groups:
        expected, results_through_proxy = direct.group(group), through.group(group)
        for line, one, other in zip(group, expected, results_through_proxy, strict=True):
            count += 1
            if other == CROSSSLOT:
                crossslot += 1
            elif one != other:
                wrong_count += 1
                if wrong_count <= 40:
                    print(f"  {' '.join(line)[:100]}\n    direct  {one[:160]!r}\n    through {other[:160]!r}")
    return count, wrong_count, crossslot


sys.exit(main())
