"""Tests of the syntax of disabled commands and of their ACL rules."""

import pytest

from shardboard.domain.databases import disabled_commands
from shardboard.domain.databases.disabled_commands import NAMES, REQUIRED_COMMANDS, InvalidCommandList


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        (" , ", ()),
        ("FLUSHALL", ("flushall",)),
        ("flushall,KEYS  Keys,\tXINFO|Help", ("flushall", "keys", "xinfo|help")),
    ],
)
def test_names_are_separated_by_commas_or_spaces(text: str, names: tuple[str, ...]) -> None:
    assert disabled_commands.parse(text) == names
    assert disabled_commands.rules(text) == tuple(f"-{name}" for name in names)


@pytest.mark.parametrize("text", ["nosuch", "+flushall", "@all", "keys|all", "~*", "fluſhall", "a\0b", "keys " * 2000])
def test_names_that_the_engine_rejects_are_rejected(text: str) -> None:
    with pytest.raises(InvalidCommandList):
        disabled_commands.parse(text)
    assert disabled_commands.rules(text) == ()


@pytest.mark.parametrize("text", ["AUTH", "client|list", "keys, hello"])
def test_commands_that_clients_need_cannot_be_disabled(text: str) -> None:
    with pytest.raises(InvalidCommandList, match="cannot be disabled"):
        disabled_commands.parse(text)


def test_required_commands_exist() -> None:
    assert REQUIRED_COMMANDS <= NAMES
