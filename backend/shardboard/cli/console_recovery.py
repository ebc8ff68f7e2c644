"""`shardboard recover-console`: rebuild a lost store from the copies that agents keep."""

import asyncio
from collections.abc import Sequence
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import shardboard.state  # noqa: F401 - registers the tables
from shardboard.app import locked_state_dir
from shardboard.cli.recovery_ca import CaSource
from shardboard.cli.store import SHELL
from shardboard.cli.store_placement import contains_store, put_store
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.text import plural
from shardboard.driver.agents import HttpAgents
from shardboard.driver.data.recovery_reading import Collected, CopyCollector, NoCopies
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import ApiError, CommandError
from shardboard.kit.addresses import normal_name
from shardboard.kit.bus import Bus
from shardboard.kit.work_directory import work_directory
from shardboard.pki.certificate_state import CertificateState
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.recovery_seal import unseal
from shardboard.services.access import passwords
from shardboard.services.cluster import console_recovery
from shardboard.settings import Settings
from shardboard.store.db import STORE_ERRORS, Store
from shardboard.store.store_copy import CopyError
from shardboard.store.store_key import (
    StoreKeyError,
    StoreKeys,
    create_key_file,
    is_key_file_missing,
    new_key,
    store_keys,
)
from shardboard.store.transient_errors import describe_error

WORK = ".console-recovery-"
AGENT_PORT = 9700


def recover_console(
    addresses: Sequence[str], source: CaSource, *, is_partial: bool = False, only_check: bool = False
) -> str:
    """Rebuild the store of a stopped console, or only show the result. Return a message. Raises CommandError."""
    settings = Settings()
    seeds = [_node(-1 - number, text) for number, text in enumerate(addresses)]
    try:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_state_dir(settings.state_dir) as console_id, work_directory(settings.state_dir, WORK) as work:
            if contains_store(settings):
                raise CommandError(
                    f"{settings.state_dir} contains a store. If it is damaged, or of a console that was started after the loss, "
                    "move console.db and the files next to it that start with this name to another directory"
                )
            return _recover(settings, seeds, source, console_id, work, is_partial=is_partial, only_check=only_check)
    except (CopyError, StoreKeyError, NoCopies, ValueError, ApiError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"the recovery failed: {error}") from error
    except STORE_ERRORS as error:
        raise CommandError(f"the recovery failed: {describe_error(error)}") from error


def _recover(
    settings: Settings,
    seeds: Sequence[NodeRef],
    source: CaSource,
    console_id: str,
    work: Path,
    *,
    is_partial: bool,
    only_check: bool,
) -> str:
    backup, store = work / "backup", work / "console.db"
    backup.mkdir(mode=0o700)
    collected = asyncio.run(_collect(source.read(settings, backup), seeds, settings, work))
    summary = _describe(collected)
    if collected.problems and not is_partial:
        raise CommandError(
            f"the recovery would be incomplete.\n{summary}\nStart the agents that do not respond, or use --partial"
        )
    configured = settings.configured_password
    password = configured or passwords.generate()
    asyncio.run(_build(store, _keys(settings, only_check=only_check), collected, settings.admin_user, password))
    if only_check:
        return f"{summary}\nNothing was changed."
    place = put_store(store, settings, console_id)
    sign_in = "" if configured else f", password {password} (printed only once)"
    return f"{summary}\nThe store is {place}.\nUser {settings.admin_user}{sign_in}\nStart the console."


async def _collect(state: CertificateState, seeds: Sequence[NodeRef], settings: Settings, work: Path) -> Collected:
    ca = ConsoleCa(state, settings.model_copy(update={"state_dir": work}))
    agents = HttpAgents(ca.client_ssl_context)
    try:
        collected = await CopyCollector(agents, partial(unseal, state.current)).collect(seeds)
    finally:
        await agents.close()
    console_recovery.require_release(collected.cluster.content)
    return collected


def _keys(settings: Settings, *, only_check: bool) -> StoreKeys:
    if is_key_file_missing(settings):
        if only_check:
            return StoreKeys([new_key()])
        create_key_file(settings)
    return store_keys(settings)


async def _build(file: Path, keys: StoreKeys, collected: Collected, admin: str, password: str) -> None:
    """Write the complete store to a file."""
    store = Store(f"sqlite+aiosqlite:///{file}", Bus(), keys)
    databases = [copy.content for copy in collected.databases.values()]
    try:
        await store.migrate()
        async with store.begin() as session:
            await console_recovery.rebuild(session, collected.cluster.content, databases, admin, password, SHELL)
    except (KeyError, TypeError) as error:
        raise ValueError(f"A copy is not usable: {error!r}.") from error
    finally:
        await store.close()


def _describe(collected: Collected) -> str:
    cluster = collected.cluster.content
    databases = [copy.content for copy in collected.databases.values()]
    held = {each.engine_id for reports in collected.reports.values() for each in reports}
    rows = [row for database in databases for row in database["shards"]]
    known = {row["engine_id"] for row in rows}
    missing = [row for row in rows if row["engine_id"] not in held and row["desired"] == DesiredState.RUNNING]
    version = collected.cluster.version
    lines = [
        f"Cluster {cluster['cluster']['name']}, as of term {version.term}, version {version.counter}",
        *(_describe_node(node, collected) for node in cluster["nodes"]),
        *(
            f"Database {each['bdb']['uid']} {each['bdb']['name']}: {plural(len(each['shards']), 'shard')}, "
            f"port {each['bdb']['port']}"
            for each in databases
        ),
        *_list("Shards that no agent has", [row["uid"] for row in missing]),
        *_list("Shards without a copy of their database, which are not changed", _unknown(collected, known)),
        *_list("Databases that were deleted, and are not rebuilt", collected.deleted),
        *_list("Databases with an operation that was lost; repeat it", console_recovery.interrupted(databases)),
        *_list("Users who keep access to data, and need a new password for the console", _names(cluster["users"])),
        *_list("Lost users", cluster["other_users"]),
        "Also lost:",
        *(f"  {each}" for each in console_recovery.LOST),
        *_list("Problems", [""] if collected.problems else []),
        *(f"  {each}" for each in collected.problems),
    ]
    return "\n".join(lines)


def _describe_node(node: Any, collected: Collected) -> str:
    reports = collected.reports.get(node["uid"])
    state = "did not respond" if reports is None else plural(len(reports), "shard")
    return f"Node {node['uid']} {node['addr']}: {state}"


def _unknown(collected: Collected, known: set[str]) -> list[int]:
    return [each.uid for reports in collected.reports.values() for each in reports if each.engine_id not in known]


def _names(users: Sequence[Any]) -> list[str]:
    return [user["email"] for user in users]


def _list(title: str, values: Sequence[object]) -> list[str]:
    return [f"{title}: {', '.join(map(str, values))}"] if values else []


def _node(uid: int, text: str) -> NodeRef:
    """Return the node at `ADDRESS`, `ADDRESS:PORT` or `[IPv6]:PORT`. Raises CommandError."""
    host, port = text.removeprefix("[").removesuffix("]"), str(AGENT_PORT)
    if ":" in text and not _is_ip(host):
        host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise CommandError(f"{text} is not an address of a node, such as 10.0.0.11 or 10.0.0.11:9700")
    return NodeRef(uid, normal_name(host.strip("[]")), int(port))


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
