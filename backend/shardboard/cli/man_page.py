"""The man page, generated from the commands."""

from collections.abc import Iterator, Sequence

import click

from shardboard import __version__

EXIT_STATUSES: Sequence[tuple[str, str]] = (
    ("0", "Success."),
    ("1", "The console rejected the request, or the action failed. shardboard diff: there are changes."),
    ("2", "The command line is not valid."),
    ("3", "The object does not exist."),
    ("4", "You are not signed in, or not permitted to do this."),
    ("5", "Conflict, for example with another action on the same database."),
    ("6", "The console is unreachable or busy."),
    ("7", "The time limit of a wait was exceeded. The action continues."),
)
ENVIRONMENT: Sequence[tuple[str, str]] = (
    ("SHARDBOARD_URL", "URL of the console, instead of a context."),
    ("SHARDBOARD_TOKEN", "Service token for this console."),
    ("SHARDBOARD_TOKEN_FILE", "File that contains the token."),
    ("SHARDBOARD_CA_FILE", "Certificate of the console CA, if the operating system does not trust the console."),
    ("SHARDBOARD_CONTEXTS_FILE", "File with the contexts."),
)
FILES: Sequence[tuple[str, str]] = (
    ("~/.config/shardboard/contexts.json", "Contexts of shardboard login, readable only by the user."),
)


def man_page(root: click.Group) -> str:
    """Return the man page of all commands in the format of man(7)."""
    context = click.Context(root, info_name="shardboard")
    lines = [
        f'.TH SHARDBOARD 1 "" "Shardboard {__version__}" "User Commands"',
        ".SH NAME",
        f"shardboard {_text('-')} {_text(_first_line(root.help))}",
        ".SH SYNOPSIS",
        ".B shardboard",
        _text("COMMAND [OPTIONS] [ARGUMENTS]"),
        ".SH DESCRIPTION",
        *_paragraphs(root.help),
        ".SH COMMANDS",
        *_commands(root, context),
        ".SH ENVIRONMENT",
        *_definitions(ENVIRONMENT),
        ".SH FILES",
        *_definitions(FILES),
        ".SH EXIT STATUS",
        *_definitions(EXIT_STATUSES),
        ".SH SEE ALSO",
        _text("valkey-cli(1)"),
    ]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Yield a section for each command below a group."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, below)
        else:
            yield from _section(command, below)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f'.SS "{_text(" ".join([context.command_path, *_arguments(command, context)]))}"'
    yield from _paragraphs(command.help)
    options = (
        each.get_help_record(context)
        for each in command.get_params(context)
        if isinstance(each, click.Option) and each.name != "help"
    )
    yield from _definitions([record for record in options if record is not None])


def _arguments(command: click.Command, context: click.Context) -> list[str]:
    return [each.make_metavar(context) for each in command.get_params(context) if isinstance(each, click.Argument)]


def _definitions(items: Sequence[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in items:
        yield ".TP"
        yield f".B {_text(name)}"
        yield _text(meaning)


def _paragraphs(help_text: str | None) -> Iterator[str]:
    for number, paragraph in enumerate((help_text or "").split("\n\n")):
        if number:
            yield ".PP"
        yield _text(" ".join(paragraph.split()))


def _first_line(help_text: str | None) -> str:
    return (help_text or "").partition("\n")[0].rstrip(".")


def _text(text: str) -> str:
    """Return text without special meaning for roff: no escapes, no requests, and hyphens that can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("`", "")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
