"""Commands with the words of `rladmin`: `tune`, `info`, `migrate`, `failover`, `bind`, `placement`, `restart`, and `upgrade`.

Each sends one request of the REST API. Words that are not known lead to an error with the native command.
"""

from collections.abc import Mapping
from typing import Any

import click
import httpx

from shardboard.cli.client import resources
from shardboard.cli.client.alias_words import FIELDS_OF_PROXY, UnknownWords, fields_of, flag, identifier, option
from shardboard.cli.client.connection import Connection, RequestRejected
from shardboard.cli.client.options import (
    Command,
    context_option,
    open_console,
    output_option,
    print_objects,
    wait_for,
    wait_options,
)
from shardboard.cli.client.output import Object
from shardboard.cli.client.resources import DATABASE, NODE, SHARD
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import CommandError

_words = click.argument("words", nargs=-1, metavar="WORDS...")
_ALL = "all"
_SHARDS = {
    "all_shards": tuple(ShardRole),
    "all_master_shards": (ShardRole.PRIMARY,),
    "all_slave_shards": (ShardRole.REPLICA,),
}


def _action_options(command: Command) -> Command:
    return _words(wait_options(context_option(command)))


def _send(
    console: Connection,
    method: str,
    path: str,
    body: Object | None,
    *,
    no_wait: bool,
    timeout: float,
    native: str = "",
) -> None:
    """Send a request, and wait for its action. Fields that the console does not know are errors with the native command."""
    try:
        reply = console.send(method, path, body, parameters={"strict": "true"} if body else None)
    except RequestRejected as error:
        if native and error.status == httpx.codes.BAD_REQUEST:
            raise UnknownWords(str(error).rstrip("."), native) from error
        raise
    action_uid = reply.get("action_uid") if isinstance(reply, dict) else None
    if isinstance(reply, dict) and not action_uid and reply.get("description"):
        click.echo(reply["description"])
    if action_uid and no_wait:
        click.echo(action_uid)
    elif action_uid:
        wait_for(console, action_uid, timeout)
    click.echo("OK", err=True)


def _uid(console: Connection, resource: resources.Resource, word: str) -> Any:
    return resources.uid_of(resources.find(console, resource, identifier(word)))


@click.command("tune")
@_action_options
def tune(words: tuple[str, ...], no_wait: bool, timeout: float, context: str | None) -> None:
    """Change settings of proxies, databases, nodes, or the cluster.

    For example, `tune proxy all threads 24`, `tune db orders oss_cluster enabled`, `tune node 1 max_listeners 100`, or
    `tune cluster rack_aware yes`.
    """
    with open_console(context) as console:
        match words:
            case ["proxy", target, *fields]:
                native = "api PUT /v1/proxies --set threads=24"
                body: Object = {"proxy": fields_of(fields, native, FIELDS_OF_PROXY)}
                paths = ["/v1/proxies" if target == _ALL else f"/v1/proxies/{identifier(target)}"]
            case [("db" | "node") as kind, target, *fields]:
                native = f"{kind} update {target} --set FIELD=VALUE"
                body = fields_of(fields, native)
                resource = NODE if kind == "node" else DATABASE
                paths = [resources.path_of(resource, item) for item in _chosen(console, resource, [target])]
            case ["cluster", *fields]:
                native = "cluster policy update --set FIELD=VALUE"
                body, paths = fields_of(fields, native), ["/v1/cluster/policy"]
            case _:
                raise UnknownWords("tune needs one of proxy, db, node, and cluster", "db update NAME --set FIELD=VALUE")
        for path in paths:
            _send(console, "PUT", path, body, no_wait=no_wait, timeout=timeout, native=native)


@click.command("info")
@_words
@context_option
@output_option
def info(words: tuple[str, ...], context: str | None, output: str) -> None:
    """Show all fields of the cluster, databases, nodes, or proxies.

    For example, `info cluster`, `info db orders`, `info node 1`, or `info proxy all`.
    """
    with open_console(context) as console:
        match words:
            case ["cluster"]:
                found = [{**console.get("/v1/cluster"), "policy": console.get("/v1/cluster/policy")}]
            case [("db" | "bdb" | "node") as kind, *targets] if len(targets) < 2:
                resource = NODE if kind == "node" else DATABASE
                found = _chosen(console, resource, targets)
            case ["proxy", *targets] if len(targets) < 2:
                uids = [identifier(each) for each in targets if each != _ALL]
                found = [console.get(f"/v1/proxies/{uid}") for uid in uids] or console.get("/v1/proxies")
            case _:
                raise UnknownWords("info needs one of cluster, db, node, and proxy", "db get NAME")
        for item in found:
            print_objects(item, (), "name", output)


def _chosen(console: Connection, resource: resources.Resource, targets: list[str]) -> list[dict[str, Any]]:
    if not targets or targets == [_ALL]:
        return resources.list_all(console, resource)
    return [resources.find(console, resource, identifier(targets[0]))]


@click.command("migrate")
@_action_options
def migrate(words: tuple[str, ...], no_wait: bool, timeout: float, context: str | None) -> None:
    """Move shards to another node.

    For example, `migrate shard 4 5 target_node 2`, `migrate db orders all_shards target_node 2`, or
    `migrate node 1 all_master_shards target_node 2`. With override_rack_policy, copies can be in one zone.
    """
    native = "api POST /v1/shards/actions/migrate --set 'shard_uids=[\"4\"]' --set target_node_uid=2"
    target, others = option(words, "target_node")
    override, others = flag(others, "override_rack_policy")
    if target is None:
        raise UnknownWords("migrate needs target_node NODE", native)
    with open_console(context) as console:
        shards = _shards(console, others, native)
        body = {"shard_uids": shards, "target_node_uid": _uid(console, NODE, target)}
        body |= {"override_rack_policy": True} if override else {}
        _send(console, "POST", "/v1/shards/actions/migrate", body, no_wait=no_wait, timeout=timeout)


@click.command("failover")
@_action_options
def failover(words: tuple[str, ...], no_wait: bool, timeout: float, context: str | None) -> None:
    """Switch primaries over to their replicas.

    For example, `failover shard 4 5` or `failover db orders all_master_shards`. With immediate, a replica is promoted without
    waiting for its primary, and writes can be lost.
    """
    force, others = flag(words, "immediate")
    with open_console(context) as console:
        native = "api POST /v1/shards/actions/failover --set 'shard_uids=[\"4\"]'"
        body: dict[str, Any] = {"shard_uids": _shards(console, others, native)}
        body |= {"force": True} if force else {}
        _send(console, "POST", "/v1/shards/actions/failover", body, no_wait=no_wait, timeout=timeout)


def _shards(console: Connection, words: list[str], native: str) -> list[str]:
    """Return the uids of the shards in `shard 4 5`, `db orders shard 4`, `db orders all_shards`, or `node 1 all_shards`."""
    match words:
        case [("db" | "bdb" | "node"), _, "shard", *uids] | ["shard", *uids] if uids:
            return [identifier(uid) for uid in uids]
        case [("db" | "bdb" | "node") as kind, target, kinds] if kinds in _SHARDS:
            field, resource = ("node_uid", NODE) if kind == "node" else ("bdb_uid", DATABASE)
            owner = str(_uid(console, resource, target))
            found = [
                str(shard["uid"])
                for shard in resources.list_all(console, SHARD)
                if str(shard[field]) == owner and shard["role"] in _SHARDS[kinds]
            ]
            if not found:
                raise CommandError(f"{kind} {target} has no such shards; see `shardboard shard list`")
            return found
    raise UnknownWords(f"the shards are not known: {' '.join(words) or 'none'}", native)


@click.command("bind")
@_action_options
def bind(words: tuple[str, ...], no_wait: bool, timeout: float, context: str | None) -> None:
    """Choose the proxies that serve a database.

    For example, `bind db orders policy all-nodes`.
    """
    policy, others = option(words, "policy")
    _, others = option(others, "endpoint")
    _change_database(others, policy and {"proxy_policy": policy}, "proxy_policy", context, no_wait, timeout)


@click.command("placement")
@_action_options
def placement(words: tuple[str, ...], no_wait: bool, timeout: float, context: str | None) -> None:
    """Choose the placement of new shards of a database.

    For example, `placement db orders sparse`.
    """
    *others, value = words or ("",)
    known = value in ("dense", "sparse")
    _change_database(
        others, {"shards_placement": value} if known else None, "shards_placement", context, no_wait, timeout
    )


def _change_database(
    words: list[str],
    body: Mapping[str, Any] | str | None,
    field: str,
    context: str | None,
    no_wait: bool,
    timeout: float,
) -> None:
    if len(words) != 2 or words[0] not in ("db", "bdb") or not isinstance(body, Mapping):
        raise UnknownWords("the words are not known", f"db update NAME --set {field}=VALUE")
    with open_console(context) as console:
        path = f"{DATABASE.path}/{_uid(console, DATABASE, words[1])}"
        _send(console, "PUT", path, body, no_wait=no_wait, timeout=timeout)


def _upgrade_command(name: str, description: str, body: Mapping[str, Any] | None) -> click.Command:
    @click.command(name, help=f"{description}.\n\nFor example, `{name} db orders`.")
    @_action_options
    def command(words: tuple[str, ...], no_wait: bool, timeout: float, context: str | None) -> None:
        if len(words) != 2 or words[0] not in ("db", "bdb"):
            raise UnknownWords("the words are not known", "api POST /v1/bdbs/UID/upgrade")
        with open_console(context) as console:
            path = f"{DATABASE.path}/{_uid(console, DATABASE, words[1])}/upgrade"
            _send(console, "POST", path, body, no_wait=no_wait, timeout=timeout)

    return command


restart = _upgrade_command("restart", "Restart the shards of a database", {"force_restart": True})
upgrade = _upgrade_command("upgrade", "Upgrade the shards of a database to the installed engine version", None)
