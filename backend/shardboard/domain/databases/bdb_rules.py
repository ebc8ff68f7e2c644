"""Validation of a requested database: one small pure rule for each field or pair of fields.

A rule returns a `ValidationError` or None. `check_fields` needs only the database, `check_conflicts` also the cluster. The request
schema has already checked the types.
"""

import json
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any

from shardboard.domain.databases import backup_rules, disabled_commands, flash, hashing, io_threads
from shardboard.domain.rules import ValidationError

PORT_FIRST, PORT_LAST = 10000, 19999
PORT_RESERVED = 10050
MAX_SHARDS = 512
MAX_MEMORY = 2**50
"""1 PiB; a larger value is probably a typing error."""
MIN_SHARD_MEMORY = 3 * 2**20
"""An empty shard that serves all slots uses 2.8 MB. With less memory it could not hold a single key."""
MAX_UID = 10**9 - 1
"""The largest uid with nine digits, which is the limit of all endpoints that accept a uid."""
MAX_INT = 2**31 - 1
"""The largest integer that the engine accepts."""

EVICTION_POLICIES = (
    "volatile-lru",
    "volatile-ttl",
    "volatile-random",
    "volatile-lfu",
    "allkeys-lru",
    "allkeys-random",
    "allkeys-lfu",
    "noeviction",
)
TLS_MODES = ("disabled", "enabled")
PROXY_POLICIES = ("single", "all-master-shards", "all-nodes")
PLACEMENTS = ("dense", "sparse")
PERSISTENCES = ("disabled", "snapshot", "aof")
AOF_POLICIES = ("appendfsync-every-sec", "appendfsync-always")

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"([2-9])\.(\d{1,2})(?:\.\d{1,3})?", re.ASCII)
_PASSWORD = re.compile(r"[!-~]{0,512}")

BdbFields = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterContext:
    """State of the cluster that a new database must not conflict with."""

    taken_uids: Set[int]
    uids_in_roles: Set[int]
    """Databases that roles give access to, existing or deleted."""
    taken_ports: Collection[int]
    reserved_ports: Collection[int]
    eligible_nodes: Collection[int]
    known_nodes: Collection[int]
    taken_names: Collection[str]
    """Names that the database must not have."""
    rack_aware: bool = False
    """Whether databases can be rack-aware (policy `rack_aware`)."""


def free_uid(first: int, taken: Collection[int]) -> int:
    """Return a uid for a new database: the lowest free uid from `first` on, or a lower one if all of these are taken."""
    candidates = chain(range(first, MAX_UID + 1), range(1, min(first, MAX_UID + 1)))
    return next(uid for uid in candidates if uid not in taken)


def check_fields(spec: BdbFields) -> ValidationError | None:
    """Return the first fault in the complete set of fields (including defaults), or None."""
    return next((error for rule in _RULES if (error := rule(spec)) is not None), None)


def check_conflicts(spec: BdbFields, context: ClusterContext) -> ValidationError | None:
    """Return the first conflict of a new, otherwise valid database with the cluster, or None."""
    uid, port = spec.get("uid"), spec["port"]
    if uid is not None and uid in context.taken_uids:
        return ValidationError("conflict", "uid_exists", f"A database with uid {uid} already exists.", "uid")
    if uid is not None and uid in context.uids_in_roles:
        message = (
            f"A role gives access to a deleted database with uid {uid}. Remove it from the role, or choose another uid."
        )
        return ValidationError("conflict", "uid_exists", message, "uid")
    if port and port in context.reserved_ports:
        return _invalid("port_unavailable", f"Port {port} is reserved.", "port")
    if port and port in context.taken_ports:
        return _invalid("port_unavailable", f"Port {port} is used by another database.", "port")
    missing_nodes = [
        n for key in ("use_nodes", "avoid_nodes") for n in spec[key] if n not in map(str, context.known_nodes)
    ]
    if missing_nodes:
        return _invalid("bad_request", f"Node {missing_nodes[0]} does not exist.", "use_nodes")
    if spec["rack_aware"] and (error := check_rack_awareness(is_rack_aware=context.rack_aware)):
        return error
    if spec["replication"] and len(context.eligible_nodes) < 2:
        return _invalid(
            "replication_node_violation",
            "Replication needs at least two nodes that are up and accept shards, because a replica on the node of its primary "
            f"would be lost together with it. There {_is_or_are(len(context.eligible_nodes))}.",
            "replication",
        )
    return check_name(spec["name"], context.taken_names)


def check_rack_awareness(*, is_rack_aware: bool) -> ValidationError | None:
    """Return the error if databases of the cluster cannot be rack-aware, or None."""
    if is_rack_aware:
        return None
    message = (
        "The cluster is not rack-aware. Set rack_id of its nodes and rack_aware of its policy first, or set rack_aware of the "
        "database to false."
    )
    return _invalid("not_rack_aware", message, "rack_aware")


def check_name(name: str, taken: Collection[str]) -> ValidationError | None:
    """Return the error if another database has the name, or None."""
    if name not in taken:
        return None
    message = f"A database with the name {name} already exists. Choose another name, or send allow_duplicate_name=true."
    return ValidationError("conflict", "name_exists", message, "name")


def first_free_port(taken: Collection[int]) -> int | None:
    """Return the port of a database that did not request one: the lowest free port from 12000 on, then the lower ones."""
    candidates = (*range(12000, PORT_LAST + 1), *range(PORT_FIRST, 12000))
    return next((port for port in candidates if port != PORT_RESERVED and port not in taken), None)


def copies(spec: BdbFields) -> int:
    """Return the number of processes that hold each key."""
    return 2 if spec["replication"] else 1


def shard_memory(spec: BdbFields) -> flash.ShardMemory:
    """Return the memory limits of each shard."""
    processes = spec["shards_count"] * copies(spec)
    return flash.shard_memory(spec["memory_size"], spec["bigstore_ram_size"], processes, on_flash=spec["bigstore"])


def _is_or_are(count: int) -> str:
    return {0: "are none", 1: "is one"}.get(count, f"are {count}")


def _invalid(code: str, message: str, field: str) -> ValidationError:
    return ValidationError("invalid", code, message, field)


def _schema(message: str, field: str) -> ValidationError:
    return ValidationError("schema", "bad_request", message, field)


def _one_of(spec: BdbFields, field: str, values: tuple[str, ...], code: str | None = None) -> ValidationError | None:
    if spec[field] in values:
        return None
    message = f"{field} must be one of {', '.join(values)}."
    return _invalid(code, message, field) if code else _schema(message, field)


def _uid(spec: BdbFields) -> ValidationError | None:
    uid = spec.get("uid")
    if uid is None or 1 <= uid <= MAX_UID:
        return None
    return _schema(f"uid must be between 1 and {MAX_UID}.", "uid")


def _name(spec: BdbFields) -> ValidationError | None:
    name = spec["name"]
    if not name:
        return _invalid("missing_db_name", "The database needs a name.", "name")
    if len(name) > 63:
        return _invalid("name_violation", f"The name has {len(name)} characters; the maximum is 63.", "name")
    if not _NAME.fullmatch(name):
        message = "The name can contain letters (A-Z, a-z), digits and hyphens, and must start and end with a letter or digit."
        return _invalid("name_violation", message, "name")
    return None


def _port(spec: BdbFields) -> ValidationError | None:
    port = spec["port"]
    if port == 0:
        return None
    if not PORT_FIRST <= port <= PORT_LAST:
        message = f"port must be between {PORT_FIRST} and {PORT_LAST}, or 0 to have one assigned."
        return _invalid("port_unavailable", message, "port")
    if port == PORT_RESERVED:
        return _invalid("port_unavailable", f"Port {PORT_RESERVED} is reserved.", "port")
    return None


def _memory(spec: BdbFields) -> ValidationError | None:
    size = spec["memory_size"]
    if not 0 <= size <= MAX_MEMORY:
        return _schema(f"memory_size must be between 0 (no limit) and {MAX_MEMORY} bytes.", "memory_size")
    processes = spec["shards_count"] * copies(spec)
    if 0 < size < processes * MIN_SHARD_MEMORY:
        message = (
            f"memory_size is divided among {processes} shards (replicas included), and each needs at least "
            f"{MIN_SHARD_MEMORY} bytes. Set it to {processes * MIN_SHARD_MEMORY} or more, or to 0 for no limit."
        )
        return _invalid("replication_size_violation", message, "memory_size")
    return None


def _flash(spec: BdbFields) -> ValidationError | None:
    size, ram, field = spec["memory_size"], spec["bigstore_ram_size"], "bigstore_ram_size"
    if not spec["bigstore"]:
        if not ram:
            return None
        return _invalid(
            "not_supported",
            f"{field} applies to databases on flash only. Omit it, or set bigstore to true.",
            field,
        )
    if not size:
        message = (
            "A database on flash needs memory_size, the total number of bytes of RAM and flash. It cannot be unlimited."
        )
        return _invalid("missing_memory_size", message, "memory_size")
    processes = spec["shards_count"] * copies(spec)
    minimum = processes * flash.MIN_SHARD_RAM
    if ram < minimum:
        message = (
            f"{field} is divided among {processes} shards (replicas included), and each needs at least {flash.MIN_SHARD_RAM} "
            f"bytes of RAM. Set it to {minimum} or more; {ram} is too small."
        )
        return _invalid("replication_size_violation", message, field)
    if not size * flash.MIN_PERCENT <= ram * 100 <= size * 100:
        message = (
            f"{field} must be between {flash.MIN_PERCENT}% and 100% of memory_size, "
            f"that is, between {-(-size * flash.MIN_PERCENT // 100)} and {size}; it is {ram}."
        )
        return _invalid("bad_request", message, field)
    return None


def _shards(spec: BdbFields) -> ValidationError | None:
    count = spec["shards_count"]
    if not 1 <= count <= MAX_SHARDS:
        return _invalid("invalid_sharding", f"shards_count must be between 1 and {MAX_SHARDS}.", "shards_count")
    if count > 1 and not spec["sharding"]:
        return _invalid("invalid_sharding", "More than one shard requires sharding to be true.", "sharding")
    return None


def _hashing(spec: BdbFields) -> ValidationError | None:
    if spec["hash_slots_policy"] != "16k":
        code = "invalid_oss_cluster_configuration" if spec["oss_cluster"] else "invalid_sharding"
        return _invalid(code, "hash_slots_policy must be 16k: the engine has 16,384 hash slots.", "hash_slots_policy")
    rules = [rule["regex"] for rule in spec["shard_key_regex"]]
    if not rules:
        return None
    verdict = hashing.judge(rules, implicit_shard_key=spec["implicit_shard_key"])
    if not verdict.refusal:
        return None
    code = "invalid_oss_cluster_configuration" if spec["oss_cluster"] else "invalid_sharding"
    return _invalid(code, verdict.refusal, "shard_key_regex")


def _oss_cluster(spec: BdbFields) -> ValidationError | None:
    if not spec["oss_cluster"]:
        return None
    code = "invalid_oss_cluster_configuration"
    if not spec["sharding"]:
        return _invalid(
            code, "The OSS cluster API requires sharding to be true; one shard is sufficient.", "oss_cluster"
        )
    if spec["proxy_policy"] == "single":
        message = "The OSS cluster API requires proxy_policy all-master-shards or all-nodes, so that clients reach every shard."
        return _invalid(code, message, "proxy_policy")
    return None


def _persistence(spec: BdbFields) -> ValidationError | None:
    code = "invalid_data_persistence"
    error = _one_of(spec, "data_persistence", PERSISTENCES, code) or _one_of(spec, "aof_policy", AOF_POLICIES, code)
    if error:
        return error
    if spec["data_persistence"] == "snapshot" and not spec["snapshot_policy"]:
        message = 'data_persistence snapshot requires snapshot_policy, for example [{"secs": 3600, "writes": 1}].'
        return _invalid(code, message, "snapshot_policy")
    if any(
        not 1 <= value <= MAX_INT for point in spec["snapshot_policy"] for value in (point["secs"], point["writes"])
    ):
        message = f"secs and writes of snapshot_policy must be between 1 and {MAX_INT}."
        return _invalid(code, message, "snapshot_policy")
    return None


def _tags(spec: BdbFields) -> ValidationError | None:
    tags = spec["tags"]
    code = "invalid_bdb_tags"
    if len(tags) > 30:
        return _invalid(code, f"A database can have at most 30 tags; this request has {len(tags)}.", "tags")
    if any(not 1 <= len(tag["key"]) <= 64 or len(tag["value"]) > 128 for tag in tags):
        return _invalid(code, "The key of a tag must have 1 to 64 characters, its value at most 128.", "tags")
    if len({tag["key"] for tag in tags}) < len(tags):
        return _invalid(code, "Each tag key must be unique.", "tags")
    return None


def _version(spec: BdbFields) -> ValidationError | None:
    for field in ("version", "redis_version"):
        if not _VERSION.fullmatch(spec[field]):
            return _invalid("invalid_version", f'{field} must have a format such as "7.2" or "7.2.4".', field)
    if _VERSION.sub(r"\1.\2", spec["version"]) != _VERSION.sub(r"\1.\2", spec["redis_version"]):
        return _invalid("invalid_version", "version and redis_version must name the same version.", "redis_version")
    return None


def password_error(value: str, field: str) -> ValidationError | None:
    """Return the fault of a password of the default user, or None."""
    if _PASSWORD.fullmatch(value):
        return None
    return _schema("The password can have up to 512 printable ASCII characters without spaces.", field)


def _password(spec: BdbFields) -> ValidationError | None:
    return password_error(spec["authentication_redis_pass"], "authentication_redis_pass")


def _disabled_commands(spec: BdbFields) -> ValidationError | None:
    try:
        disabled_commands.parse(spec["disabled_commands"])
    except disabled_commands.InvalidCommandList as problem:
        return _invalid("bad_request", str(problem), "disabled_commands")
    return None


def _limits(spec: BdbFields) -> ValidationError | None:
    if not 0 <= spec["max_connections"] <= 1_000_000:
        return _schema("max_connections must be between 0 (the default, 10000) and 1000000.", "max_connections")
    if not 1 <= spec["maxclients"] <= 1_000_000:
        return _schema("maxclients must be between 1 and 1000000.", "maxclients")
    if not 0 <= spec["io_threads"] <= io_threads.MAX_THREADS:
        message = f"io_threads must be between 1 (off) and {io_threads.MAX_THREADS}, or 0 for an automatic choice."
        return _schema(message, "io_threads")
    return None


def _enums(spec: BdbFields) -> ValidationError | None:
    return (
        _one_of(spec, "eviction_policy", EVICTION_POLICIES, "eviction_policy_violation")
        or _one_of(spec, "proxy_policy", PROXY_POLICIES, "invalid_proxy_policy")
        or _one_of(spec, "tls_mode", TLS_MODES)
        or _one_of(spec, "shards_placement", PLACEMENTS)
        or _one_of(spec, "oss_cluster_api_preferred_ip_type", ("internal", "external"))
        or _one_of(spec, "oss_cluster_api_preferred_endpoint_type", ("ip", "hostname"))
    )


def _unsupported(spec: BdbFields) -> ValidationError | None:
    """Refuse unsupported features: accepting such a field without effect would mislead the client."""
    for field, supported, code, reason in _UNSUPPORTED:
        if spec.get(field, supported) != supported:
            return _invalid(code, f"{reason} supported. Omit {field}, or set it to {json.dumps(supported)}.", field)
    return None


_NO = "not_supported"
_UNSUPPORTED: tuple[tuple[str, object, str, str], ...] = (
    ("type", "redis", _NO, "Databases of types other than redis (such as memcached) are not"),
    ("crdt", False, _NO, "Active-Active databases are not"),
    ("ssl", False, _NO, "Enabling TLS with this field instead of tls_mode is not"),
    ("authentication_ssl_client_certs", [], _NO, "Client certificates are not"),
    ("module_list", [], "missing_module", "No modules are installed. Adding modules is not"),
    ("replica_sources", [], _NO, "Replicating from another database (Replica Of) is not"),
    ("sync_sources", [], _NO, "Replicating from another database (Replica Of) is not"),
    ("replica_sync", "disabled", _NO, "Replicating from another database (Replica Of) is not"),
    ("sync", "disabled", _NO, "Replicating from another database (Replica Of) is not"),
    ("acl", [], "redis_acl_unsupported", "Database access by ACL list is not"),
    ("audit_settings", {"audit_mode": "disabled"}, _NO, "Auditing the connections of clients is not"),
    ("shards_blueprint", [], "bad_shards_blueprint", "Placing shards with a blueprint is not"),
)

_RULES = (
    _uid,
    _name,
    _port,
    _shards,
    _memory,
    _flash,
    _hashing,
    _enums,
    _oss_cluster,
    _persistence,
    backup_rules.check_schedule,
    backup_rules.check_location,
    backup_rules.check_retention,
    backup_rules.check_recording,
    _unsupported,
    _tags,
    _version,
    _password,
    _disabled_commands,
    _limits,
)
