"""Command line interface: `shardboard console | agent | db | …`. Commands are imported when they are used."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TextIO

import click

from shardboard import __version__
from shardboard.errors import CommandError

_CLIENT = "shardboard.cli.client"
_OBJECTS = f"{_CLIENT}.object_commands"
_PROCESSES = "shardboard.cli.process_commands"
_STORE = "shardboard.cli.store_commands"
_BENCHMARKS = "shardboard.cli.benchmark_commands"

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Processes of this machine": {
        "console": f"{_PROCESSES}:console",
        "agent": f"{_PROCESSES}:agent",
        "demo": f"{_PROCESSES}:demo",
        "simulate": f"{_PROCESSES}:simulate",
        "openapi": f"{_PROCESSES}:openapi",
    },
    "Any console": {
        "login": f"{_CLIENT}.session_commands:login",
        "logout": f"{_CLIENT}.session_commands:logout",
        "context": f"{_CLIENT}.session_commands:context_group",
        "status": f"{_CLIENT}.status:status",
        "top": f"{_CLIENT}.top:top",
        "logs": f"{_CLIENT}.cluster_commands:logs",
        "wait": f"{_CLIENT}.cluster_commands:wait_group",
        "apply": f"{_CLIENT}.apply_commands:apply",
        "diff": f"{_CLIENT}.apply_commands:diff",
        "bench": f"{_BENCHMARKS}:bench",
        "api": f"{_CLIENT}.cluster_commands:api",
        "completion": "shardboard.cli.main:completion",
        "man": "shardboard.cli.main:man",
    },
    "Objects of a console": {
        "cluster": f"{_CLIENT}.cluster_settings_commands:cluster",
        "db": f"{_CLIENT}.database_commands:db",
        "node": f"{_CLIENT}.node_commands:node",
        "shard": f"{_OBJECTS}:shard",
        "user": f"{_OBJECTS}:user",
        "role": f"{_OBJECTS}:role",
        "acl": f"{_OBJECTS}:acl",
        "alert": f"{_CLIENT}.alert_commands:alert",
        "webhook": f"{_OBJECTS}:webhook",
        "service-token": f"{_OBJECTS}:service_token",
        "location": f"{_OBJECTS}:location",
        "backup": f"{_OBJECTS}:backup",
        "run": f"{_OBJECTS}:run",
        "scenario": f"{_OBJECTS}:scenario",
        "scenario-run": f"{_OBJECTS}:scenario_run",
        "drill": f"{_CLIENT}.drill_commands:drill",
        "incident": f"{_OBJECTS}:incident",
        "action": f"{_OBJECTS}:action",
    },
    "Words of rladmin": {
        name: f"{_CLIENT}.alias_commands:{name}"
        for name in ("tune", "info", "migrate", "failover", "bind", "placement", "restart", "upgrade")
    },
    "Store of this machine's console": {
        "token": f"{_STORE}:token",
        "reset-admin-password": f"{_STORE}:reset_admin_password",
        "unlock": f"{_STORE}:unlock",
        "backup-console": f"{_STORE}:backup_console",
        "restore-console": f"{_STORE}:restore_console",
        "recover-console": f"{_STORE}:recover_console",
        "migrate-store": f"{_STORE}:migrate_store",
        "rotate-store-key": f"{_STORE}:rotate_store_key",
        "new-ca": f"{_STORE}:new_ca",
        "check-audit": f"{_STORE}:check_audit",
    },
}
"""Commands by section of the help, with the module and the name of each."""

_COMMANDS = {name: path for commands in SECTIONS.values() for name, path in commands.items()}


def _require_native_name(name: str) -> None:
    """Raise CommandError for commands of `rladmin`, with the native command."""
    from shardboard.cli.client.alias_words import NATIVE_COMMANDS, UnknownWords

    if name in NATIVE_COMMANDS:
        raise UnknownWords(f"{name} is not a command of shardboard", NATIVE_COMMANDS[name])


class _Root(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            _require_native_name(cmd_name)
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name, self.get_command(ctx, name)) for name in names]
                formatter.write_dl([(name, command.get_short_help_str(90)) for name, command in rows if command])


root = _Root("shardboard", help="Management of sharded, replicated databases on Valkey Cluster.", no_args_is_help=True)
click.version_option(__version__, message="shardboard %(version)s")(root)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell, for example for `source <(shardboard completion bash)`."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the argument has only known shells
    click.echo(kind(root, {}, "shardboard", "_SHARDBOARD_COMPLETE").source())


@click.command("man")
@click.argument("file", required=False, type=click.File("w", encoding="utf-8", atomic=True), default="-")
def man(file: TextIO) -> None:
    """Print the man page, or write it to FILE, such as /usr/local/share/man/man1/shardboard.1."""
    from shardboard.cli.man_page import man_page

    file.write(man_page(root))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console script. Return the exit status."""
    # Files that this process and the shards it starts create are only for the current user.
    os.umask(0o077)
    try:
        status = root.main(None if argv is None else list(argv), "shardboard", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CommandError as error:
        print(f"shardboard: {error}", file=sys.stderr)
        return error.exit_status
    except (click.Abort, KeyboardInterrupt):
        return 130
    return status if isinstance(status, int) else 0


if __name__ == "__main__":
    sys.exit(main())
