"""Translation of command lines of redis-benchmark and valkey-benchmark, where memtier_benchmark can do exactly the same."""

from collections.abc import Sequence

_RATIOS = {"set": "1:0", "get": "0:1"}
_VALUES = {"c": "50", "n": "100000", "d": "3", "P": "1", "r": "", "t": ""}
"""Options that define the load, with their defaults."""
_TARGET_VALUES = set("hpsau") | {"user", "sni", "cacert", "cacertdir", "cert", "key", "threads"}
"""Options with a value that select the database or do not change the load."""
_TARGET_FLAGS = {"q", "csv", "tls", "insecure", "cluster", "precision"}


def translation(arguments: Sequence[str]) -> str:
    """Return a line of memtier_benchmark with the same load; empty if there is none.

    There is one for a single test of SET or GET with random keys whose requests divide equally among the connections. Names of
    keys differ.
    """
    values = _load_options(arguments)
    if values is None or values["t"].lower() not in _RATIOS or not values["r"]:
        return ""
    if not all(values[name].isdecimal() and int(values[name]) > 0 for name in "cndPr"):
        return ""
    requests, left_over = divmod(int(values["n"]), int(values["c"]))
    if left_over or not requests:
        return ""
    return (
        f"memtier_benchmark --threads=1 --clients={values['c']} --requests={requests} --pipeline={values['P']}"
        f" --ratio={_RATIOS[values['t'].lower()]} --data-size={values['d']}"
        f" --key-pattern=R:R --key-minimum=0 --key-maximum={int(values['r']) - 1} --distinct-client-seed"
    )


def _load_options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the options that define the load; None if there is an unknown one."""
    values = dict(_VALUES)
    words = iter(arguments)
    for word in words:
        name = word.lstrip("-")
        if not word.startswith("-") or name not in _VALUES.keys() | _TARGET_VALUES | _TARGET_FLAGS:
            return None
        if name in _TARGET_FLAGS:
            continue
        value = next(words, None)
        if value is None:
            return None
        if name in values:
            values[name] = value
    return values
