"""Texts of messages, reports and exports."""

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


def markdown_text(text: str) -> str:
    """Return a text for one line of Markdown that is shown as it is: without HTML, links, images and cells of tables."""
    return text.translate(_MARKDOWN)


def csv_text(text: str) -> str:
    """Return a text for a cell of CSV that spreadsheets do not execute as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
