"""The initial configuration files of a shard: `valkey.conf` and, in cluster mode, `nodes.conf`.

A cluster whose nodes start with a complete `nodes.conf` needs no MEET and does not wait for gossip. The format is that of
`clusterLoadConfig` in Valkey 8 (`src/cluster_legacy.c`): one line per node, then a `vars` line.
"""

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

from shardboard.agent.databases import peer_tls
from shardboard.agent.databases.engine import supports_hash_seed, supports_slot_stats
from shardboard.agent.databases.flash import Flash
from shardboard.contract import (
    APPLICATION_RIGHTS,
    BdbSpec,
    Peer,
    ShardSpec,
    canary,
    flush_rules,
    numbered_database_rules,
)

ADMIN = "shardboard"
"""Engine user of the console, the agents and replication."""
SOCKET = "valkey.sock"
LOG = "valkey.log"
SEGMENTS, SEGMENT_MIN_BYTES, SEGMENT_MAX_BYTES = 16, 64 * 2**10, 64 * 2**20
"""The module's files on flash: number of files within the limit, and minimum and maximum size in bytes."""


def valkey_conf(
    bdb: BdbSpec, shard: ShardSpec, address: str, flash: Flash | None = None, engine_version: str = ""
) -> str:
    """Return the text of `valkey.conf`. Paths are relative to the shard's directory; passwords are hashed where the engine allows
    it.
    Settings that not all engines have depend on `engine_version`.
    """
    lines = [
        f"bind {address}",
        *_ports(bdb, shard),
        "protected-mode no",  # access is controlled by the users below
        "tcp-backlog 511",
        f"unixsocket {SOCKET}",
        "unixsocketperm 700",
        "daemonize no",
        "dir .",
        f"logfile {LOG}",
        f"maxclients {bdb.maxclients}",
        f"maxmemory {bdb.maxmemory}",
        f"maxmemory-policy {bdb.eviction_policy}",
        f"hz {bdb.hz}",
        "latency-tracking yes",
        *([f"io-threads {bdb.io_threads}"] if bdb.io_threads > 1 else []),
        *([f"hash-seed {hash_seed(bdb.admin_password)}"] if supports_hash_seed(engine_version) else []),
        _default_user(bdb, engine_version),
        f"user {ADMIN} on {_hashes(bdb.admin_password, bdb.other_admin_passwords_sha256)} ~* &* +@all",
        f"user {canary.USER} on #{_sha256(canary.derive_password(bdb.admin_password))} {canary.RIGHTS}",
        f"masteruser {ADMIN}",
        f"masterauth {bdb.admin_password}",
        f"replica-announce-ip {address}",
        f"replica-announce-port {shard.port}",
        "repl-diskless-sync yes",
        "repl-diskless-sync-delay 0",
        "dual-channel-replication-enabled yes",
        "repl-diskless-load on-empty-db",
        "loading-process-events-interval-bytes 262144",
        # Without persistence only replicas receive the data, and compression is slower than a fast network.
        f"rdbcompression {'yes' if bdb.appendonly or bdb.save else 'no'}",
        f"appendonly {'yes' if bdb.appendonly else 'no'}",
        f"appendfsync {bdb.appendfsync}",
        *([f"save {seconds} {changes}" for seconds, changes in bdb.save] or ['save ""']),
    ]
    if bdb.tier is not None and flash is not None:
        lines += [
            f"loadmodule {_quoted(flash.module)}",
            f"tier.flash-path {_quoted(flash.directory(shard.uid))}",
            f"tier.flash-limit {bdb.tier.flash_limit}",
            f"tier.segment-size {_segment(bdb.tier.flash_limit)}",
            f"tier.ram-limit {bdb.tier.ram_limit}",
        ]
    if bdb.cluster:
        lines += [
            "cluster-enabled yes",
            "cluster-config-file nodes.conf",
            f"cluster-port {shard.bus_port}",
            f"cluster-announce-ip {address}",
            f"cluster-announce-port {shard.port}",
            *([f"cluster-announce-tls-port {shard.port}"] if bdb.tls is not None else []),
            f"cluster-announce-bus-port {shard.bus_port}",
            f"cluster-node-timeout {bdb.node_timeout_ms}",
            "cluster-require-full-coverage no",
            "cluster-allow-replica-migration no",
            *(["cluster-slot-stats-enabled yes"] if supports_slot_stats(engine_version) else []),
        ]
    elif shard.primary is not None:
        lines.append(f"replicaof {shard.primary[0]} {shard.primary[1]}")
    return "\n".join(lines) + "\n"


def hash_seed(admin_password: str) -> str:
    """Return the seed of the hash tables of a database's shards. With the same seed after a restart, the order of keys is the same,
    so cursors of SCAN remain valid. It is secret, because clients that know it could choose colliding keys.
    """
    return hmac.new(admin_password.encode(), b"hash-seed", hashlib.sha256).hexdigest()[:32]


def nodes_conf(peers: list[Peer], myself: str, swap_with: str | None = None, *, tls: bool = False) -> str:
    """Return the text of `nodes.conf` for the shard with engine id `myself`. `tls` says whether the shards use TLS.

    With `swap_with` the shard starts as a replica of the shard that will become its replica, which owns the slots only in this
    file. All other nodes have epoch 0 and `currentEpoch` is one below the epoch of the shard, so that TAKEOVER assigns exactly
    that epoch.
    """
    if swap_with is None:
        newest = max(peer.epoch for peer in peers)
        return "".join(_node_line(peer, myself, tls=tls) for peer in peers) + _vars(newest)
    own_peer = next(peer for peer in peers if peer.engine_id == myself)
    primary = next(peer for peer in peers if peer.engine_id == swap_with)
    peers_after_swap = [
        primary.model_copy(update={"primary_engine_id": None, "slots": own_peer.slots}),
        own_peer.model_copy(update={"primary_engine_id": swap_with, "slots": []}),
        *(_with_primary(peer, myself, swap_with) for peer in peers if peer.engine_id not in (myself, swap_with)),
    ]
    lines = [_node_line(peer.model_copy(update={"epoch": 0}), myself, tls=tls) for peer in peers_after_swap]
    return "".join(lines) + _vars(own_peer.epoch - 1)


def _with_primary(peer: Peer, old: str, new: str) -> Peer:
    return peer.model_copy(update={"primary_engine_id": new}) if peer.primary_engine_id == old else peer


def _vars(epoch: int) -> str:
    return f"vars currentEpoch {epoch} lastVoteEpoch 0\n"


def _node_line(peer: Peer, myself: str, *, tls: bool) -> str:
    is_own = peer.engine_id == myself
    # The main port is that of the cluster's connection type; the extra field has the port of the other type.
    other = f"tcp-port={peer.port}" if tls else "tls-port=0"
    fields = [
        peer.engine_id,
        f"{peer.address}:{peer.port}@{peer.bus_port},,{other},shard-id={peer.pair_id}",
        ("myself," if is_own else "") + ("slave" if peer.primary_engine_id else "master"),
        peer.primary_engine_id or "-",
        "0",  # ping sent
        "0",  # pong received
        str(peer.epoch),
        "connected" if is_own else "disconnected",
    ]
    fields += [str(first) if first == last else f"{first}-{last}" for first, last in peer.slots]
    return " ".join(fields) + "\n"


def _ports(bdb: BdbSpec, shard: ShardSpec) -> list[str]:
    """Return the port settings. A shard with TLS announces the same number as its unencrypted port: to clients of its Unix socket
    the engine reports other nodes by that port, although nothing listens there without TLS.
    """
    if bdb.tls is None:
        return [f"port {shard.port}"]
    return [
        "port 0",
        f"tls-port {shard.port}",
        f"tls-ca-cert-file {peer_tls.CA_FILE}",
        f"tls-cert-file {peer_tls.IDENTITY}",
        f"tls-key-file {peer_tls.IDENTITY}",
        "tls-auth-clients yes",
        "tls-protocols TLSv1.3",
        "tls-session-caching no",
        "tls-replication yes",
        *(["tls-cluster yes"] if bdb.cluster else []),
    ]


def _default_user(bdb: BdbSpec, engine_version: str) -> str:
    if not bdb.default_user:
        return "user default off"
    passwords = _hashes(bdb.client_password, bdb.other_passwords_sha256) if bdb.client_password else "nopass"
    commands = [
        *APPLICATION_RIGHTS.split(),
        *numbered_database_rules(engine_version),
        *bdb.disabled_commands,
    ]
    return " ".join(["user default on", passwords, "~* &*", *commands, *flush_rules(commands, engine_version)])


def _hashes(password: str, others_sha256: Sequence[str]) -> str:
    """Return a user's password rules for the engine. Any of the passwords is accepted."""
    return " ".join(f"#{each}" for each in (_sha256(password), *others_sha256))


def _segment(flash_limit: int) -> int:
    """Return the size of one file on flash in bytes: small compared with the limit, but large enough to keep the number of files
    low.
    """
    parts = flash_limit // SEGMENTS // SEGMENT_MIN_BYTES * SEGMENT_MIN_BYTES if flash_limit else SEGMENT_MAX_BYTES
    return min(max(parts, SEGMENT_MIN_BYTES), SEGMENT_MAX_BYTES)


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
