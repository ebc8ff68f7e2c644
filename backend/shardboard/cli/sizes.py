"""Sizes such as `8GiB` on the command line."""

import re

import click

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"([0-9]{1,18})\s?([kmgt]?i?)(b?)")


def parse_size(text: str, *, needs_unit: bool = False) -> int | None:
    """Return the bytes of `8GiB`, `500MB`, `8g`, or `1000`; None if the text is not a positive size.

    With `needs_unit`, only texts that end with a unit and `B` are sizes.
    """
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS or int(match[1]) == 0:
        return None
    if needs_unit and not (match[2] and match[3]):
        return None
    return int(match[1]) * _UNITS[match[2]]


class ByteSize(click.ParamType[int]):
    """A size in bytes."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        size = value if isinstance(value, int) else parse_size(value)
        if size is None:
            self.fail(f"{value} is not a size such as 8GiB", param, ctx)
        return size
