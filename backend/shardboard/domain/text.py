"""Texts of messages, reports and exports."""

import re
from math import log

_MARKDOWN = str.maketrans(
    {
        **{character: f"\\{character}" for character in "\\`[]|"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        **dict.fromkeys("\r\n", " "),
    }
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plural(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 shard", "2 shards", "1 primary", "1,200 primaries"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size_text(number: float) -> str:
    """Return a number of bytes with a unit: "512 bytes", "1.5 GiB"."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    exponent = min(len(units) - 1, int(log(number, 1024))) if number >= 1 else 0
    return f"{number / 1024**exponent:.{1 if exponent else 0}f} {units[exponent]}"


def number_text(value: float | None) -> str:
    """Return a number with four digits, or all digits before the decimal point; a dash for None."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def as_sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop. A first word that is a path or another name keeps its case."""
    first = text.partition(" ")[0].rstrip(",:")
    start = text[:1].upper() if re.fullmatch(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", first) else text[:1]
    return start + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def markdown_text(text: str) -> str:
    """Return a text for one line of Markdown that is shown as it is: without HTML, links, images and cells of tables."""
    return text.translate(_MARKDOWN)


def csv_text(text: str) -> str:
    """Return a text for a cell of CSV that spreadsheets do not execute as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
