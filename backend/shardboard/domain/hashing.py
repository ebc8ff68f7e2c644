"""Which `shard_key_regex` lists mean the hashing that the engine does: the part of a key in braces, else the whole key.

User regexes are never executed. A rule is normalised as text and looked up among the known spellings, so a hostile
pattern costs nothing, and a rule that nobody has thought of is refused rather than guessed at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

TAG_RULE = r".*\{(?<tag>.*)\}.*"
WHOLE_KEY_RULE = r"(?<tag>.*)"
STANDARD = (TAG_RULE, WHOLE_KEY_RULE)
"""The default policy of the REST reference."""

_MISPRINTED_TAG_RULE = r".*\{(?<tag>.*\}\}\}.*"
"""After `(?!<tag>` was read as `(?<tag>`: how the published 50-million-operations benchmark prints the tag rule."""

_SPELLINGS = (
    ("(?P<tag>", "(?<tag>"),
    ("(?'tag'", "(?<tag>"),
    ("[{]", r"\{"),
    ("[}]", r"\}"),
    (r"[^\{]", "[^{]"),
    (r"[^\}]", "[^}]"),
)

_TAG_RULES = frozenset(
    f"{before}{opening}(?<tag>{tag}){closing}{after}"
    for before, opening, tag, closing, after in product(
        (".*", ".*?", "[^{]*", "[^{]*?"),
        (r"\{", "{"),
        (".*", ".*?", ".+", ".+?", "[^}]*", "[^}]+"),
        (r"\}", "}"),
        (".*", ".*?"),
    )
)
_WHOLE_KEY_RULES = frozenset(("(?<tag>.*)", "(?<tag>.+)"))


@dataclass(frozen=True)
class Verdict:
    """`refusal`: a sentence when the engine cannot hash so. `misprint`: a rule was read as it was meant."""

    refusal: str = ""
    misprint: bool = False


def judge(rules: Sequence[str], *, implicit_shard_key: bool = False) -> Verdict:
    """Can the engine hash by these rules? The first rule that matches a key decides in the reference, so order counts.

    With `implicit_shard_key` a key that no rule matches is hashed whole, which makes the last rule optional.
    """
    misprint = False
    tags_seen = False
    for index, rule in enumerate(rules, start=1):
        kind, misprinted = _classify(rule)
        misprint = misprint or misprinted
        if kind == "tag":
            tags_seen = True
        elif kind == "whole" and tags_seen:
            return Verdict(misprint=misprint)
        elif kind == "whole":
            return Verdict(
                "Hashing whole keys without regard to braces is not possible: the engine hashes the part in braces."
            )
        else:
            return Verdict(
                f"Rule {index} of shard_key_regex is not one the engine can hash by. It hashes the part of a key in "
                f'braces, else the whole key; leave the field out, or send "{TAG_RULE}", then "{WHOLE_KEY_RULE}".'
            )
    if tags_seen and implicit_shard_key:
        return Verdict(misprint=misprint)
    return Verdict(
        "The rules of shard_key_regex leave keys without braces unhashed, which the engine cannot do: "
        f'add the rule "{WHOLE_KEY_RULE}" at the end.'
    )


def _classify(rule: str) -> tuple[str, bool]:
    text = rule.removeprefix("^").removesuffix("$")
    for spelling, plain in _SPELLINGS:
        text = text.replace(spelling, plain)
    misprint = "(?!<tag>" in text
    text = text.replace("(?!<tag>", "(?<tag>")
    if text in _TAG_RULES or (misprint and text == _MISPRINTED_TAG_RULE):
        return "tag", misprint
    return ("whole" if text in _WHOLE_KEY_RULES else "other"), misprint
