"""Commands on the console's machine that work with its store, most of them while the console is stopped or cannot be used.

Passwords are never arguments, because other users of a machine can read the arguments of all processes.
"""

from pathlib import Path

import click

_passphrase_file = click.option(
    "--passphrase-file", type=Path, metavar="FILE", help="File with the passphrase of the backup."
)
_identity_file = click.option("--identity-file", type=Path, metavar="FILE", help="File with an age private key.")


@click.command("token")
@click.option(
    "--count", type=click.IntRange(1, 1000), default=1, metavar="N", show_default=True, help="Number of tokens."
)
@click.option("--address", metavar="ADDRESS", help="Address of the node that may join with the token (default: any).")
@click.option(
    "--ttl", type=click.IntRange(60, 3600), default=600, metavar="SECONDS", show_default=True, help="Lifetime."
)
@click.option(
    "--out-dir", type=Path, metavar="DIR", help="Write each token to a file token-<n> instead of printing it."
)
def token(count: int, address: str | None, ttl: int, out_dir: Path | None) -> None:
    """Create join tokens."""
    from shardboard.cli.store import make_tokens

    if tokens := make_tokens(count, ttl, address, out_dir):
        click.echo(tokens)


@click.command("reset-admin-password")
@click.option(
    "--user", metavar="NAME", help="Username; the user becomes an administrator (default: SHARDBOARD_ADMIN_USER)."
)
def reset_admin_password(user: str | None) -> None:
    """Set and print a new password."""
    from shardboard.cli.store import reset_password

    click.echo(reset_password(user))


@click.command("unlock")
@click.argument("user", metavar="NAME")
def unlock(user: str) -> None:
    """End the sign-in delay of a user after failed sign-ins."""
    from shardboard.cli import store

    click.echo(store.unlock(user))


@click.command("rotate-store-key")
def rotate_store_key() -> None:
    """Encrypt the store's secrets with a new key."""
    from shardboard.cli.store import rotate_key

    click.echo(rotate_key())


@click.command("new-ca")
@click.option("--yes", is_flag=True, help="Confirm that agents are disconnected.")
def new_ca(*, yes: bool) -> None:
    """Replace a console CA that was lost or has expired; every agent must then rejoin."""
    from shardboard.cli import store

    if not yes:
        raise click.UsageError("confirm with --yes that agents are disconnected")
    click.echo(store.new_ca())


@click.command("check-audit")
def check_audit() -> None:
    """Verify the audit log. The exit status is 1 if it is not intact."""
    from shardboard.cli import store

    click.echo(store.check_audit())


@click.command("migrate-store")
@click.option(
    "--to", required=True, metavar="URL", help="Empty database: postgresql://USER@HOST/DATABASE, without a password."
)
@click.option("--password-file", type=Path, metavar="FILE", help="File with the password of the database user.")
def migrate_store(to: str, password_file: Path | None) -> None:
    """Copy the SQLite store to PostgreSQL, while the console is stopped."""
    from shardboard.cli.migrate_store import migrate_store as migrate

    click.echo(migrate(to, password_file))


@click.command("backup-console")
@click.argument("file", type=Path)
@click.option(
    "--passphrase-file",
    type=Path,
    metavar="FILE",
    help="File with a passphrase; the backup then contains the store key (default: encrypt with the store key).",
)
@click.option(
    "--recipient",
    multiple=True,
    metavar="KEY",
    help="Public age key; repeat for several; the backup then contains the store key.",
)
def backup_console(file: Path, passphrase_file: Path | None, recipient: tuple[str, ...]) -> None:
    """Write an encrypted backup of the console to a new file."""
    from shardboard.cli import console_backup

    if passphrase_file is not None and recipient:
        raise click.UsageError("--passphrase-file and --recipient cannot be used together")
    click.echo(console_backup.backup_console(file, passphrase_file, list(recipient)))


@click.command("restore-console")
@click.argument("file", type=Path)
@click.option(
    "--location-file",
    type=Path,
    metavar="FILE",
    help="JSON file with the settings of a storage location, as in the REST API; FILE is then a path in the location.",
)
@_passphrase_file
@_identity_file
@click.option("--check", is_flag=True, help="Only check the backup; the console can run.")
@click.option("--replace", is_flag=True, help="Keep the current SQLite store under another name.")
def restore_console(
    file: Path,
    location_file: Path | None,
    passphrase_file: Path | None,
    identity_file: Path | None,
    *,
    check: bool,
    replace: bool,
) -> None:
    """Restore a backup of the console, while it is stopped."""
    from shardboard.cli import console_backup

    click.echo(
        console_backup.restore_console(
            file, passphrase_file, identity_file, location_file=location_file, replace=replace, only_check=check
        )
    )


@click.command("recover-console")
@click.option(
    "--node",
    required=True,
    multiple=True,
    metavar="ADDRESS",
    help="Address of a node, with :PORT unless its agent uses port 9700; one is enough, repeat for several.",
)
@click.option(
    "--copy",
    type=Path,
    multiple=True,
    metavar="FILE",
    help="File recovery/cluster of an agent; without the store key, repeat for more than half of the nodes.",
)
@click.option("--backup", type=Path, metavar="FILE", help="Backup of the console, from which the CA is read.")
@click.option("--ca", type=Path, metavar="FILE", help="Certificate of the console CA.")
@click.option("--ca-key", type=Path, metavar="FILE", help="Private key of the console CA, with --ca.")
@_passphrase_file
@_identity_file
@click.option("--check", is_flag=True, help="Show what would be rebuilt, and change nothing.")
@click.option("--partial", is_flag=True, help="Continue although copies or nodes are missing.")
def recover_console(
    node: tuple[str, ...],
    copy: tuple[Path, ...],
    backup: Path | None,
    ca: Path | None,
    ca_key: Path | None,
    passphrase_file: Path | None,
    identity_file: Path | None,
    *,
    check: bool,
    partial: bool,
) -> None:
    """Rebuild a lost store from what the agents know. One of --copy, --backup, and --ca is required."""
    from shardboard.cli import console_recovery
    from shardboard.cli.recovery_ca import CaSource

    if sum(map(bool, (copy, backup, ca))) != 1:
        raise click.UsageError("exactly one of --copy, --backup, and --ca is required")
    source = CaSource(ca, ca_key, backup, passphrase_file, identity_file, copy)
    click.echo(console_recovery.recover_console(list(node), source, is_partial=partial, only_check=check))
