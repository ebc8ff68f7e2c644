"""Regular expressions of the console and the agent end in bounded time, whatever text they are applied to.

For each repetition in an expression, texts are generated that match everything before it, repeat it many times, and then do not
match.
"""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from backend.tests.support.sources import parse

import shardboard

SOURCE = Path(shardboard.__file__).parent
LIMIT_SECONDS = 0.1
"""CPU time for one text. An expression with linear time needs about a millisecond."""
MAX_CHARACTERS = 1 << 14
"""Most fields of requests are shorter. Expressions with quadratic time need seconds for such a text."""
NUMBERS = [*range(4, 32), *(2**power for power in range(5, 15))]
"""Numbers of repetitions. They increase slowly at first, so that an expression with exponential time is stopped early."""
AT_THE_START = {"match", "fullmatch"}
ANYWHERE = {"search", "split", "sub", "findall", "finditer"}
"""Functions that try each position of a text."""


def test_expressions_with_superlinear_time_are_detected() -> None:
    for pattern in (r"(a+)+b", r"x(.*,)*y", r"\s+$"):
        assert slowest_text(re.compile(pattern), {"search"}), pattern
    for pattern in (r"[a-z]{1,64}@[a-z]+", r"x(?:a{1,9}\.)*b", r"(x)\1{3}y"):
        assert not slowest_text(re.compile(pattern), {"search"}), pattern
    assert not slowest_text(re.compile(r"\d+\.\d+"), {"match"})


def test_regular_expressions_end_in_bounded_time() -> None:
    known: dict[re.Pattern[Any], set[str]] = {}
    for pattern, functions in expressions():
        known.setdefault(pattern, set()).update(functions)
    sources = {pattern.pattern for pattern in known}
    assert len(known) > 40
    for one_of_each_place in (
        r"[!-~]{0,512}",  # a constant of a module
        r"~\S+",  # in a tuple
        r"[^\s\0]{0,200}",  # in a dataclass in a dictionary
        r"v=(\d[\w.]*)|memtier_benchmark (\d[\w.]*)",
        r"(\([^()]*\))",  # in a call
    ):
        assert one_of_each_place in sources, one_of_each_place
    found = {pattern.pattern: slowest_text(pattern, functions) for pattern, functions in known.items()}
    assert {pattern: text for pattern, text in found.items() if text} == {}


def test_no_text_is_executed_as_code() -> None:
    calls = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
    ]
    assert calls == []


def slowest_text(pattern: re.Pattern[Any], functions: Collection[str]) -> str:
    """Return a description of a text for which an expression exceeds the time limit, or an empty string."""
    search = pattern.search if ANYWHERE & set(functions) else pattern.fullmatch
    for before, repeated in dict.fromkeys(repetitions(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))):
        for number in NUMBERS:
            if number * len(repeated) > MAX_CHARACTERS:
                break
            for end in ("\x00", "é!"):
                text = before + repeated * number + end
                if is_slow(partial(search, text if isinstance(pattern.pattern, str) else text.encode())):
                    return f"{before!r} + {repeated!r} * {number} + {end!r}"
    return ""


def is_slow(call: Callable[[], object]) -> bool:
    """Return whether a call exceeds the time limit, twice, because another process can delay it once."""
    for _ in range(2):
        start = time.thread_time()
        call()
        if time.thread_time() - start < LIMIT_SECONDS:
            return False
    return True


def repetitions(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Return a text that matches before each repetition of an expression, and a text that matches its content."""
    for operation, value in tree:
        if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, high, content = value
            if high > 1:
                for sample in samples(content):
                    yield before, sample
            yield from repetitions(content, before)
        else:
            for part in parts(operation, value):
                yield from repetitions(part, before)
        before += text_of([(operation, value)])


def parts(operation: Any, value: Any) -> list[Any]:
    """Return the expressions that an operation contains."""
    match operation:
        case sre.SUBPATTERN:
            return [value[3]]
        case sre.BRANCH:
            return list(value[1])
        case sre.ASSERT:
            return [value[1]]
        case sre.ATOMIC_GROUP:
            return [value]
    return []


def samples(content: Any) -> list[str]:
    """Return texts that match the content of a repetition: one, and its first and last alternative or character."""
    found = [text_of(content)]
    if len(content) == 1:
        operation, value = content[0]
        if operation is sre.SUBPATTERN:
            return samples(value[3])
        if operation is sre.BRANCH:
            found += [text_of(each) for each in value[1]]
        if operation is sre.IN:
            found += [character(each) for each in value if each[0] is not sre.NEGATE]
    return [each for each in dict.fromkeys(found) if each]


def text_of(tree: Any) -> str:
    """Return a short text that matches an expression. Repetitions match once, even if they are optional."""
    return "".join(map(text_of_operation, tree))


def text_of_operation(item: tuple[Any, Any]) -> str:
    operation, value = item
    match operation:
        case sre.LITERAL:
            return chr(value)
        case sre.IN:
            return character(value[0]) if value[0][0] is not sre.NEGATE else first_outside(value[1:])
        case sre.NOT_LITERAL:
            return first_outside([(sre.LITERAL, value)])
        case sre.ANY:
            return "a"
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            return text_of(value[2]) * max(1, value[0])
        case sre.BRANCH:
            return text_of(value[1][0])
        case sre.SUBPATTERN | sre.ATOMIC_GROUP:
            return text_of(parts(operation, value)[0])
    return ""  # positions, assertions and references


def character(item: tuple[Any, Any]) -> str:
    """Return a character that an item of a set matches."""
    operation, value = item
    match operation:
        case sre.LITERAL:
            return chr(value)
        case sre.RANGE:
            return chr(value[0])
    return {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_WORD: "a"}.get(value, "-")


def first_outside(items: Any) -> str:
    """Return a character that no item of a set matches."""
    allowed = {chr(value) for operation, value in items if operation is sre.LITERAL}
    return next(each for each in "a1 -:/x" if each not in allowed)


def expressions() -> Iterator[tuple[re.Pattern[Any], set[str]]]:
    """Return all regular expressions in the code and the functions that use them."""
    uses = functions_by_name()
    for module in pkgutil.walk_packages([str(SOURCE)], "shardboard."):
        if module.name == "shardboard.__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield value, uses.get(name, ANYWHERE)
            elif name != "__builtins__":
                yield from patterns_in(value, uses["pattern"], set())
    yield from literals()


def functions_by_name() -> dict[str, set[str]]:
    """Return the names of the methods that are called on each name in the code."""
    found: dict[str, set[str]] = {}
    for _, node in nodes():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            found.setdefault(name, set()).add(node.attr)
    return found


def literals() -> Iterator[tuple[re.Pattern[Any], set[str]]]:
    """Return the expressions in calls of the module `re`."""
    for _, node in nodes():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=function), args=[ast.Constant(value=pattern), *_]
            ) if function in AT_THE_START | ANYWHERE:
                yield re.compile(pattern), {function}


def patterns_in(value: Any, functions: set[str], seen: set[int]) -> Iterator[tuple[re.Pattern[Any], set[str]]]:
    """Return the expressions in a value and its members. Attributes named `pattern` describe complete texts."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield value, functions
    elif isinstance(pattern := getattr(value, "pattern", None), str):
        yield re.compile(pattern), AT_THE_START
    for each in members(value):
        yield from patterns_in(each, functions, seen)


def members(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (each for name, each in value.items() if name != "__builtins__")
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif hasattr(value, "__dataclass_fields__"):
        for field in value.__dataclass_fields__.values():
            yield from field.metadata.values()
            yield getattr(value, field.name, None)


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    return [(path, node) for path in SOURCE.rglob("*.py") for node in ast.walk(parse(path))]
