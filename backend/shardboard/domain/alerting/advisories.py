"""Published vulnerabilities of Valkey, and the first release of each series that contains the fix.

Sources: the release notes of Valkey (`00-RELEASENOTES` of each series, github.com/valkey-io/valkey/releases), the advisories that
they name, and the Debian changelog of the package `valkey`. A distribution can fix a vulnerability without changing the version
number. Results depend on the version number only, and messages state this.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

ReleaseSeries = tuple[int, int]


@dataclass(frozen=True)
class Advisory:
    """Vulnerabilities that were published together, and the releases that fix them."""

    published: str
    """Year and month."""
    names: tuple[str, ...]
    impact: str
    """Effect of an attack, written as the end of a sentence."""
    fixed: Mapping[ReleaseSeries, int]
    """Patch number of the first fixed release, by series. A series that is not listed is not known to be affected."""


ADVISORIES = (
    Advisory(
        "2025-04",
        ("CVE-2025-21605",),
        "an unauthenticated client can exhaust the memory",
        {(8, 0): 3, (8, 1): 1},
    ),
    Advisory(
        "2025-07",
        ("CVE-2025-32023", "CVE-2025-48367"),
        "HyperLogLog commands can write outside their memory, and rejected connections can starve other connections",
        {(8, 0): 4, (8, 1): 3},
    ),
    Advisory(
        "2025-10",
        ("CVE-2025-49844", "CVE-2025-46817", "CVE-2025-46818", "CVE-2025-46819"),
        "a script can run arbitrary code in the server",
        {(8, 0): 6, (8, 1): 4, (9, 0): 1},
    ),
    Advisory(
        "2026-02",
        ("CVE-2025-67733", "CVE-2026-21863"),
        "a script can forge replies to its client, and a cluster bus packet can crash the server",
        {(8, 0): 7, (8, 1): 6, (9, 0): 3},
    ),
    Advisory(
        "2026-05",
        ("CVE-2026-23479", "CVE-2026-25243", "CVE-2026-23631"),
        "blocked clients, RESTORE and a full resync during a script can use freed memory",
        # 8.0.8 was withdrawn.
        {(8, 0): 9, (8, 1): 7, (9, 0): 4},
    ),
    Advisory(
        "2026-07",
        ("CVE-2026-56684", "CVE-2026-63639"),
        "CLIENT KILL over TLS and forged stream data can run arbitrary code in the server",
        # 8.1.8 of June 2026 is older than this.
        {(8, 0): 10, (8, 1): 9, (9, 0): 5, (9, 1): 1},
    ),
    Advisory(
        "2026-08",
        ("GHSA-fq2f-crmw-q97r",),
        "an unauthenticated client can make the script debugger use freed memory",
        {(9, 1): 2},
    ),
)


def affecting_version(version: str) -> list[Advisory]:
    """Return the advisories that affect a version such as `8.0.1`, oldest first; an unparsable version yields none."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if match is None:
        return []
    major, minor, patch = (int(part) for part in match.groups())
    return [advisory for advisory in ADVISORIES if patch < advisory.fixed.get((major, minor), 0)]
