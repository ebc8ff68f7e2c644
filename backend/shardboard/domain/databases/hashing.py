"""`shard_key_regex` lists that describe the hashing of the engine: the part of a key in braces, otherwise the complete key.

User-defined regexes are never executed. A rule is normalised as text and compared with the known spellings. A hostile pattern can
therefore do no harm, and an unknown rule is rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

TAG_RULE = r".*\{(?<tag>.*)\}.*"
WHOLE_KEY_RULE = r"(?<tag>.*)"
STANDARD = (TAG_RULE, WHOLE_KEY_RULE)
"""The default policy of the REST reference."""

_MISPRINTED_TAG_RULE = r".*\{(?<tag>.*\}\}\}.*"
"""The result of reading `(?!<tag>` as `(?<tag>`: the published 50-million-operations benchmark prints the tag rule this way."""

_SPELLINGS = (
    ("(?P<tag>", "(?<tag>"),
    ("(?'tag'", "(?<tag>"),
    ("[{]", r"\{"),
    ("[}]", r"\}"),
    (r"[^\{]", "[^{]"),
    (r"[^\}]", "[^}]"),
)

_TAG_RULES = frozenset(
    f"{prefix}{opening_brace}(?<tag>{tag}){closing_brace}{after}"
    for prefix, opening_brace, tag, closing_brace, after in product(
        (".*", ".*?", "[^{]*", "[^{]*?"),
        (r"\{", "{"),
        (".*", ".*?", ".+", ".+?", "[^}]*", "[^}]+"),
        (r"\}", "}"),
        (".*", ".*?"),
    )
)
_WHOLE_KEY_RULES = frozenset(("(?<tag>.*)", "(?<tag>.+)"))


@dataclass(frozen=True)
class HashingVerdict:
    """`refusal` is a message if the engine cannot hash by the rules. `misprint`: a known misprint was read as intended."""

    refusal: str = ""
    misprint: bool = False


def judge(rules: Sequence[str], *, implicit_shard_key: bool = False) -> HashingVerdict:
    """Return whether the engine can hash by these rules. In the reference the first rule that matches a key decides, so the order
    matters.

    With `implicit_shard_key` a key without a matching rule is hashed completely, so the last rule is optional.
    """
    has_misprint = False
    has_tags = False
    for index, rule in enumerate(rules, start=1):
        kind, misprinted = _classify(rule)
        has_misprint = has_misprint or misprinted
        if kind == "tag":
            has_tags = True
        elif kind == "whole" and has_tags:
            return HashingVerdict(misprint=has_misprint)
        elif kind == "whole":
            return HashingVerdict(
                "Hashing complete keys regardless of braces is not possible: the engine hashes the part in braces."
            )
        else:
            return HashingVerdict(
                f"The engine cannot hash by rule {index} of shard_key_regex. It hashes the part of a key in braces, otherwise "
                f'the complete key. Omit the field, or send "{TAG_RULE}", then "{WHOLE_KEY_RULE}".'
            )
    if has_tags and implicit_shard_key:
        return HashingVerdict(misprint=has_misprint)
    return HashingVerdict(
        "The rules of shard_key_regex do not cover keys without braces, but the engine hashes these as well. "
        f'Add the rule "{WHOLE_KEY_RULE}" at the end.'
    )


def _classify(rule: str) -> tuple[str, bool]:
    text = rule.removeprefix("^").removesuffix("$")
    for variant, standard in _SPELLINGS:
        text = text.replace(variant, standard)
    has_misprint = "(?!<tag>" in text
    text = text.replace("(?!<tag>", "(?<tag>")
    if text in _TAG_RULES or (has_misprint and text == _MISPRINTED_TAG_RULE):
        return "tag", has_misprint
    return ("whole" if text in _WHOLE_KEY_RULES else "other"), has_misprint
