"""Types of arguments, for argparse."""

import argparse
import re
from collections.abc import Callable

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def byte_size(text: str) -> int:
    """Parse `8GiB`, `500MB` or plain bytes."""
    match = re.fullmatch(r"(\d+)\s*([kmgt]?i?)b?", text.strip().lower())
    if match is None or match[2] not in _UNITS or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 8GiB")
    return int(match[1]) * _UNITS[match[2]]


def port(text: str) -> int:
    if not text.isdecimal() or not 1024 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port from 1024 to 65535")
    return int(text)


def integer(first: int, last: int) -> Callable[[str], int]:
    """Return the type of an integer from `first` to `last`."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not first <= int(text) <= last:
            raise argparse.ArgumentTypeError(f"{text} is not an integer from {first} to {last}")
        return int(text)

    return parse
