"""Examples of requests for the OpenAPI document. Tests send each of them to the console."""

from collections.abc import Mapping
from typing import Any

PATH_EXAMPLES: Mapping[str, Any] = {
    "action": "flush",
    "action_uid": "0b4a9c1e-5d0f-4f6e-9a57-2f7c3c1d8e11",
    "alert": "bdb_size",
    "name": "api",
    "rack_id": "rack-1",
    "session_uid": 1,
    "uid": 1,
    "upload_uid": 1,
}
"""Values of path parameters by name."""

PATH_EXAMPLES_OF: Mapping[str, Mapping[str, Any]] = {
    "/v1/bootstrap/validate/{action}": {"action": "create_cluster"},
    "/v1/cluster/alerts/{alert}": {"alert": "cluster_too_few_nodes_for_replication"},
    "/v1/nodes/alerts/{uid}/{alert}": {"alert": "node_memory"},
    "/v1/nodes/{uid}/actions/{action}": {"action": "maintenance_on"},
    "/v1/nodes/{uid}/snapshots/{name}": {"name": "before-maintenance"},
    "/v1/backups/{uid}/files/{name}": {"name": "manifest.json"},
    "/v1/benchmarks/scenarios/{name}": {"name": "load-test"},
    "/v1/scenarios/{name}": {"name": "load-test"},
    "/v1/scenarios/{name}/preflight": {"name": "load-test"},
    "/v1/endpoints/stats/{uid}": {"uid": "1:1:1"},
    "/v1/endpoints/stats/last/{uid}": {"uid": "1:1:1"},
}
"""Values that differ from these, by path."""

QUERY_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "/v1/benchmarks/compare": {"uids": "1,2"},
    "/v1/history": {"topic": "bdbs", "metrics": "total_req", "from": 1_764_500_000},
    "/v1/history/latency": {"from": 1_764_500_000},
    "/v1/jsonschema": {"object": "bdb"},
    "/v1/nodes/{uid}/address_changes": {"order": "remove"},
}
"""Values of required query parameters, by path."""

_PASSWORD = "correct-horse-battery"  # noqa: S105 - an example
_PEM = "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"
_LOCATION = {"type": "mount_point", "path": "/srv/backups"}
_DIRECTORY = {
    "uris": ["ldaps://ldap.example.org"],
    "control_plane": True,
    "bind_dn": "cn=reader,dc=example,dc=org",
    "bind_pass": _PASSWORD,
    "user_dn_template": "cn=%u,ou=people,dc=example,dc=org",
    "dn_group_attr": "memberOf",
}
_BENCHMARK = {
    "name": "reads",
    "bdb_uid": 1,
    "command_line": "memtier_benchmark --ratio=1:10 --test-time=60 --clients=10 --threads=2",
}
_CLUSTER = {
    "cluster": {"name": "cluster.example.org"},
    "credentials": {"username": "admin@example.org", "password": _PASSWORD},
}

BODIES: Mapping[str, Any] = {
    "POST /v1/backup_locations": {"name": "share", "location": _LOCATION},
    "POST /v1/backup_locations/actions/test": {"location": _LOCATION, "node_uid": 1},
    "PUT /v1/backup_locations/{uid}": {"name": "archive"},
    "POST /v1/bdbs": {
        "name": "orders",
        "memory_size": 1_073_741_824,
        "replication": True,
        "sharding": True,
        "shards_count": 3,
        "tags": [{"key": "team", "value": "shop"}],
    },
    "POST /v1/bdbs/alerts/{uid}": {"bdb_size": {"enabled": True, "threshold": "80"}},
    "PUT /v1/bdbs/{uid}": {"memory_size": 2_147_483_648},
    "PUT /v1/bdbs/{uid}/{action}": {},
    "POST /v1/bdbs/{uid}/actions/backup": {"location_uid": 1},
    "POST /v1/bdbs/{uid}/actions/export": {"export_location": {"type": "mount_point", "path": "/srv/exports"}},
    "POST /v1/bdbs/{uid}/actions/import": {
        "dataset_import_sources": [{"type": "mount_point", "path": "/srv/exports/dump.rdb"}]
    },
    "POST /v1/bdbs/{uid}/actions/inspect": {
        "dataset_import_sources": [{"type": "mount_point", "path": "/srv/exports/dump.rdb"}]
    },
    "PUT /v1/bdbs/{uid}/actions/rebalance": {},
    "POST /v1/bdbs/{uid}/actions/repair": {"confirm": "database 1"},
    "POST /v1/bdbs/{uid}/actions/restore": {"backup_uid": 1, "mode": "merge", "key_patterns": ["orders:*"]},
    "PUT /v1/bdbs/{uid}/actions/revamp": {"memory_size": 2_147_483_648},
    "POST /v1/bdbs/{uid}/command": {"command": "PING"},
    "DELETE /v1/bdbs/{uid}/passwords": {"password": _PASSWORD},
    "POST /v1/bdbs/{uid}/passwords": {"password": _PASSWORD},
    "PUT /v1/bdbs/{uid}/passwords": {"password": _PASSWORD},
    "POST /v1/bdbs/{uid}/upgrade": {"redis_version": ""},
    "POST /v1/bdbs/{uid}/uploads": {"name": "dump.rdb", "bytes": 1_048_576, "location_uid": 1},
    "POST /v1/benchmarks": _BENCHMARK,
    "PUT /v1/benchmarks/cost_model": {"currency": "EUR", "ram_gb": 3.5, "flash_gb": 0.4, "node": 120},
    "POST /v1/benchmarks/preflight": _BENCHMARK,
    "POST /v1/benchmarks/understand": {"command_line": "memtier_benchmark --ratio=1:10 --test-time=60"},
    "PUT /v1/benchmarks/{uid}": {"name": "reads before the upgrade"},
    "POST /v1/bootstrap": {"action": "create_cluster", **_CLUSTER},
    "POST /v1/bootstrap/create_cluster": _CLUSTER,
    "POST /v1/bootstrap/join": {
        "token": "<token of POST /v1/join_tokens>",
        "csr": "-----BEGIN CERTIFICATE REQUEST-----\n…\n-----END CERTIFICATE REQUEST-----\n",
        "addr": "10.0.0.4",
        "agent_port": 9700,
        "facts": {},
    },
    "POST /v1/bootstrap/join_conflict": {"token": "<token of POST /v1/join_tokens>", "addr": "10.0.0.4"},
    "POST /v1/bootstrap/validate/{action}": _CLUSTER,
    "PUT /v1/cluster": {"name": "cluster.example.org", "dns_suffix": "db.example.org"},
    "POST /v1/cluster/authority/announce": {"certificate": _PEM},
    "POST /v1/cluster/authority/request": {"common_name": "Shardboard CA", "organization": "Example"},
    "PUT /v1/cluster/certificates": {"certificates": [{"name": "api", "certificate": _PEM, "key": _PEM}]},
    "POST /v1/cluster/certificates/rotate": {"name": "api"},
    "PUT /v1/cluster/ldap": _DIRECTORY,
    "PUT /v1/cluster/oidc": {
        "issuer": "https://login.example.org",
        "client_id": "shardboard",
        "client_secret": _PASSWORD,
        "roles": [{"group": "dba", "role_uid": 1}],
    },
    "PUT /v1/cluster/policy": {"default_shards_placement": "sparse"},
    "PUT /v1/cluster/update_cert": {"name": "api", "certificate": _PEM, "key": _PEM},
    "POST /v1/console_backups": {"location_uid": 1},
    "PUT /v1/console_backups/schedule": {"location_uid": 1, "cron": "0 3 * * *", "keep": 30},
    "POST /v1/join_tokens": {"ttl": 600, "address": "10.0.0.4"},
    "POST /v1/ldap_mappings": {"name": "operators", "dn": "cn=ops,ou=groups,dc=example,dc=org", "role": "db_member"},
    "PUT /v1/ldap_mappings/{uid}": {"role_uids": [3]},
    "PUT /v1/license": {"license": "-----LICENSE START-----\n…\n-----LICENSE END-----\n"},
    "POST /v1/nodes/{uid}/actions/drill": {"kind": "kill_shard", "shard_uid": "1", "confirm": "node 1"},
    "POST /v1/nodes/{uid}/actions/maintenance_off": {"snapshot_name": ""},
    "POST /v1/nodes/{uid}/actions/maintenance_on": {"overwrite_snapshot": True},
    "POST /v1/nodes/{uid}/actions/remove": {},
    "PUT /v1/nodes/{uid}": {"max_redis_servers": 50},
    "PUT /v1/proxies": {"proxy": {"threads": 2}},
    "PUT /v1/proxies/{uid}": {"proxy": {"threads": 2, "max_threads": 8}},
    "POST /v1/redis_acls": {"name": "orders-read", "acl": "+@read ~orders:*"},
    "POST /v1/redis_acls/validate": {"acl": "+@read ~orders:*"},
    "PUT /v1/redis_acls/{uid}": {"acl": "+@read +@write ~orders:*"},
    "POST /v1/roles": {"name": "shop", "management": "db_member", "resources": [{"type": "db", "uids": [1]}]},
    "PUT /v1/roles/{uid}": {"management": "db_viewer"},
    "POST /v1/scenario_runs": {"scenario": "load-test", "scale": 0.01},
    "POST /v1/scenarios/{name}/preflight": {"scale": 0.01},
    "POST /v1/service_tokens": {"name": "backup-script", "role": "db_member", "ttl": 2_592_000},
    "POST /v1/session": {"username": "admin@example.org", "password": _PASSWORD},
    "POST /v1/session/second_factor": {"username": "admin@example.org", "password": _PASSWORD},
    "POST /v1/shards/actions/failover": {"shard_uids": ["1"]},
    "POST /v1/shards/actions/migrate": {"shard_uids": ["1"], "target_node_uid": 3},
    "POST /v1/shards/{uid}/actions/failover": {"force": False},
    "POST /v1/shards/{uid}/actions/migrate": {"target_node_uid": 3},
    "POST /v1/shards/{uid}/actions/restart": {"confirm": "shard 1"},
    "POST /v1/users": {
        "email": "ann@example.org",
        "name": "Ann",
        "password": _PASSWORD,
        "role_uids": [4],
    },
    "POST /v1/users/authorize": {"username": "admin@example.org", "password": _PASSWORD, "ttl": 3600},
    "POST /v1/users/refresh_jwt": {"ttl": 3600},
    "DELETE /v1/users/password": {"username": "ann@example.org", "old_password": _PASSWORD},
    "POST /v1/users/password": {"username": "ann@example.org", "new_password": "another-horse-battery"},
    "PUT /v1/users/password": {"username": "ann@example.org", "new_password": "another-horse-battery"},
    "DELETE /v1/users/second_factor": {"code": "123456"},
    "PUT /v1/users/second_factor": {"secret": "<secret of POST /v1/users/second_factor>", "code": "123456"},
    "PUT /v1/users/{uid}": {"name": "Ann Smith", "role_uids": [4]},
    "POST /v1/webhooks": {
        "name": "chat",
        "url": "https://chat.example.org/hook",
        "events": "alarms",
        "min_severity": "WARNING",
    },
    "PUT /v1/webhooks/{uid}": {"silent_minutes": 60},
    "POST /v1/zones/{rack_id}/actions/drill": {"kind": "freeze", "confirm": "zone rack-1"},
}
"""Bodies by method and path, for all endpoints with a JSON body."""
