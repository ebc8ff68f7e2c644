"""Reader of pasted command lines: repairs what word processors and web pages change, and leaves out what is not part of a command.

It does not know the options of a program. Messages never contain parts that can be a password.
"""

import re
import shlex
import unicodedata
from dataclasses import dataclass, field

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
"""The hyphen, and characters that replace it in documents."""
PROMPTS = {"$", "#", ">", "%"}
BENCHMARK_PROGRAMS = ("memtier_benchmark", "redis-benchmark", "valkey-benchmark")

_SINGLE_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032"), "'")
_DOUBLE_QUOTES = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033"), '"')
_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
_REDIRECTION = r"(?:(?<=\s)[0-9&])?(?:>{1,2}|<)(?:&[0-9-]|\s*[^\s|;&<>]+)"
_SHELL = re.compile(f"(?P<quoted>{_QUOTED})|(?P<redirection>{_REDIRECTION})|(?P<operator>[|&;\n]+)", re.DOTALL)


class UnreadableText(Exception):
    """A text is not one command line; the message says why."""


@dataclass(frozen=True)
class CommandWords:
    """A command, divided into words. `program` is empty if the text starts with an option."""

    program: str
    arguments: list[str]
    corrections: list[str] = field(default_factory=list)
    """Sentences for users: what was changed or left out."""


def read(text: str) -> CommandWords:
    """Divide a text into program and arguments. Raises UnreadableText."""
    corrections: list[str] = []
    line = _without_shell_syntax(_with_plain_characters(text, corrections), corrections)
    try:
        words = shlex.split(line)
    except ValueError:
        raise UnreadableText("A quotation mark is not closed, or the text ends with a backslash.") from None
    while words and words[0] in ("", *PROMPTS):
        del words[0]
    if not words:
        raise UnreadableText("Paste a command line of memtier_benchmark.")
    if words[0][0] in DASHES:
        return CommandWords("", words, corrections)
    position = _program_position(words)
    if position is None:
        raise UnreadableText(f"{_short(words[0])} is not memtier_benchmark.")
    if position > 0:
        corrections.append("Left out the text before the program.")
    return CommandWords(_program(words[position]), words[position + 1 :], corrections)


def _with_plain_characters(text: str, corrections: list[str]) -> str:
    spaces = {character for character in text if character != " " and unicodedata.category(character) == "Zs"}
    invisible = {character for character in text if unicodedata.category(character) == "Cf"}
    plain = text.translate({**dict.fromkeys(map(ord, spaces), " "), **dict.fromkeys(map(ord, invisible), "")})
    if plain != text:
        corrections.append("Replaced special spaces by spaces.")
    quoted = plain.translate(_SINGLE_QUOTES | _DOUBLE_QUOTES)
    if quoted != plain:
        corrections.append("Replaced typographic quotation marks by straight ones.")
    joined = re.sub(r"\\[ \t]*\r?\n", " ", quoted).replace("\r\n", "\n").strip()
    return re.sub(rf"\n\s*(?=[{DASHES}])", " ", joined)  # one option on each line


def _without_shell_syntax(line: str, corrections: list[str]) -> str:
    """Return the command without redirections and without commands that follow it. Raises UnreadableText."""
    kept: list[str] = []
    position = 0
    redirections = 0
    for found in _SHELL.finditer(line):
        kept.append(line[position : found.start()])
        position = found.end()
        if found["quoted"]:
            kept.append(found[0])
        elif found["redirection"]:
            redirections += 1
        elif "".join(kept).strip():
            break
    else:
        kept.append(line[position:])
        position = len(line)
    if any(program in line[position:] for program in BENCHMARK_PROGRAMS):
        raise UnreadableText("The text contains several commands. Paste one at a time.")
    if line[position:].strip():
        corrections.append("Left out the text after the command.")
    if redirections:
        corrections.append("Left out the redirection of input or output.")
    return "".join(kept)


def _program_position(words: list[str]) -> int | None:
    """Return the position of the program. It follows words such as `sudo`; in a container also the name of an image."""
    positions = [index for index, word in enumerate(words) if _program(word)]
    if not positions:
        return None
    first = positions[0]
    return first + 1 if first + 1 in positions else first


def _program(word: str) -> str:
    """Return the program that a path or an image with a version means; empty if none."""
    name = word.rsplit("/", 1)[-1].partition(":")[0]
    if "memtier" in name and name[0] not in DASHES and "=" not in name:
        return "memtier_benchmark"
    return name if name in BENCHMARK_PROGRAMS else ""


def _short(word: str) -> str:
    return word if len(word) <= 40 else f"{word[:40]}…"
