package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

const pollInterval = 500 * time.Millisecond

// standardHashing is the default hashing policy, which Redis Software does not apply by itself.
var standardHashing = []any{
	client.Object{"regex": `.*\{(?<tag>.*)\}.*`},
	client.Object{"regex": `(?<tag>.*)`},
}

var permission = types.ObjectType{AttrTypes: map[string]attr.Type{
	"role_uid": types.Int64Type, "redis_acl_uid": types.Int64Type,
}}

// dependsOnShards are the fields that change together with the number of shards, because their limits depend on it.
var dependsOnShards = map[string]bool{"shards_count": true, "memory_size": true, "bigstore_ram_size": true}

var database = object{
	name: "database", noun: "database", path: "/v1/bdbs", names: []string{"name"},
	description: "A database. Terraform waits until it is active. Changes of attributes that are marked as " +
		"replacing the database **delete its data**.",
	prepare: func(body client.Object) {
		if body["sharding"] == true {
			body["shard_key_regex"] = standardHashing
		}
	},
	update: updateDatabase, settle: awaitActive, awaitDeletion: awaitDeletion,
	fields: withSecretVariants([]field{
		uidField("database"),
		{name: "name", kind: types.StringType, description: "Name: 1-63 letters, digits, and hyphens."},
		{
			name: "memory_size", kind: types.Int64Type,
			description: "Memory limit in bytes, including replicas; 0 means no limit.",
		},
		{
			name: "port", kind: types.Int64Type, usage: adopted, isFixed: true,
			description: "Port of the endpoint. Default: a free port. Changes replace the database.",
		},
		{
			name: "sharding", kind: types.BoolType, usage: optional, fallback: types.BoolValue(false), isFixed: true,
			description: "Whether keys are distributed over several shards. Changes replace the database.",
		},
		{
			name: "shards_count", kind: types.Int64Type, usage: optional, fallback: types.Int64Value(1),
			description: "Number of primaries. Changes of a database with `sharding` move slots while it is in use.",
		},
		{
			name: "replication", kind: types.BoolType, usage: optional, fallback: types.BoolValue(false),
			description: "Whether each primary has a replica on another node.",
		},
		{
			name: "oss_cluster", kind: types.BoolType, usage: optional, fallback: types.BoolValue(false), isFixed: true,
			description: "Whether clients use the cluster protocol. Changes replace the database.",
		},
		{
			name: "proxy_policy", kind: types.StringType, usage: adopted,
			description: "Nodes that serve the endpoint: `single`, `all-master-shards`, or `all-nodes`.",
		},
		{
			name: "shards_placement", kind: types.StringType, usage: adopted,
			description: "`dense`: on as few nodes as possible; `sparse`: on all nodes.",
		},
		{
			name: "rack_aware", kind: types.BoolType, usage: adopted,
			description: "Whether copies of a shard are in different zones. The policy of the cluster must allow it.",
		},
		{
			name: "slave_ha", kind: types.BoolType, usage: adopted,
			description: "Whether replicas of a lost node are created again on other nodes.",
		},
		{
			name: "bigstore", kind: types.BoolType, usage: optional, fallback: types.BoolValue(false), isFixed: true,
			description: "Whether rarely used values are moved from RAM to flash. Changes replace the database.",
		},
		{
			name: "bigstore_ram_size", kind: types.Int64Type, usage: adopted,
			description: "RAM limit of a database on flash in bytes. Its `memory_size` includes RAM and flash.",
		},
		{
			name: "io_threads", kind: types.Int64Type, usage: adopted,
			description: "Threads of each shard that read requests and write replies. Shardboard only.",
		},
		{
			name: "data_internode_encryption", kind: types.BoolType, usage: adopted, isFixed: true,
			description: "Whether traffic between nodes is encrypted. Changes replace the database.",
		},
		{
			name: "data_persistence", kind: types.StringType, usage: optional, fallback: types.StringValue("disabled"),
			description: "Persistence on disk: `disabled`, `snapshot`, or `aof`.",
		},
		{
			name: "aof_policy", kind: types.StringType, usage: optional,
			fallback:    types.StringValue("appendfsync-every-sec"),
			description: "When the append-only file is written: `appendfsync-every-sec` or `appendfsync-always`.",
		},
		{
			name: "eviction_policy", kind: types.StringType, usage: optional, fallback: types.StringValue("volatile-lru"),
			description: "Keys that are evicted when `memory_size` is reached, such as `noeviction` or `allkeys-lru`.",
		},
		{
			name: "tls_mode", kind: types.StringType, usage: optional, fallback: types.StringValue("disabled"),
			description: "Whether clients must use TLS: `enabled` or `disabled`.",
		},
		{
			name: "max_connections", kind: types.Int64Type, usage: optional, fallback: types.Int64Value(0),
			description: "Maximum number of client connections; 0 means no limit.",
		},
		{
			name: "password", api: "authentication_redis_pass", kind: types.StringType, usage: optional, isSecret: true,
			description: "Password of the default user. Without it, anyone who can reach the port can use the database.",
		},
		{
			name: "tags", kind: types.MapType{ElemType: types.StringType}, usage: optional,
			fallback: emptyMap(types.StringType), description: "Tags by key.", encode: encodeTags, decode: decodeTags,
		},
		{
			name: "roles_permissions", kind: types.SetType{ElemType: permission}, usage: optional,
			fallback:    emptySet(permission),
			description: "Roles whose users can access the data, each with the uid of a Redis ACL.",
		},
		{
			name: "use_nodes", kind: types.SetType{ElemType: types.StringType}, usage: optional,
			fallback: emptySet(types.StringType), isFixed: true, isOmittedIfEmpty: true,
			description: "Uids of nodes that can get a shard; empty: all. Changes replace the database.",
		},
		{
			name: "avoid_nodes", kind: types.SetType{ElemType: types.StringType}, usage: optional,
			fallback: emptySet(types.StringType), isFixed: true, isOmittedIfEmpty: true,
			description: "Uids of nodes that must not get a shard. Changes replace the database.",
		},
		{
			name: "endpoint", api: "endpoints", kind: types.StringType, usage: computed, isVolatile: true,
			description: "Host and port that clients connect to.", decode: decodeEndpoint,
		},
	}),
}

// updateDatabase sends changes that the API cannot make together as separate requests.
func updateDatabase(ctx context.Context, config *config, path string, changes client.Object) error {
	for _, body := range separate(changes) {
		reply, err := config.client.Put(ctx, path, body)
		if err != nil {
			return err
		}
		if _, err := awaitActive(ctx, config, path, reply); err != nil {
			return err
		}
	}
	return nil
}

// separate divides changes into requests in the order in which they are sent: settings, placement, I/O threads, number of shards.
func separate(changes client.Object) []client.Object {
	_, isResharded := changes["shards_count"]
	requests := make([]client.Object, 4)
	for name, value := range changes {
		step := 0
		switch {
		case name == "shards_placement":
			step = 1
		case name == "io_threads":
			step = 2
		case isResharded && dependsOnShards[name]:
			step = 3
		}
		if requests[step] == nil {
			requests[step] = client.Object{}
		}
		requests[step][name] = value
	}
	return slices.DeleteFunc(requests, func(request client.Object) bool { return request == nil })
}

// awaitActive waits until the action of a reply has ended, and the database is active.
func awaitActive(ctx context.Context, config *config, path string, reply client.Object) (client.Object, error) {
	var current client.Object
	err := poll(ctx, config, func() (bool, error) {
		var err error
		if current, err = config.client.Get(ctx, path); err != nil {
			return false, err
		}
		switch status := current["status"]; status {
		case "active":
			return true, nil
		case "creation-failed":
			return false, errors.New(detailOf(current, "The creation failed."))
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return current, actionError(ctx, config, reply)
}

// actionError returns the error of the action that a request started, if it failed.
func actionError(ctx context.Context, config *config, reply client.Object) error {
	uid, isText := reply["action_uid"].(string)
	if !isText {
		return nil
	}
	action, err := config.client.Get(ctx, "/v1/actions/"+uid)
	if client.IsNotFound(err) {
		return nil // servers delete old actions
	}
	if err != nil {
		return err
	}
	if status := action["status"]; status == "failed" || status == "cancelled" {
		reason, _ := action["error"].(string)
		return fmt.Errorf("the operation %v %v: %s", action["name"], status, reason)
	}
	return nil
}

func detailOf(bdb client.Object, fallback string) string {
	if detail, _ := bdb["status_detail"].(string); detail != "" {
		return detail
	}
	return fallback
}

func awaitDeletion(ctx context.Context, config *config, path string) error {
	return poll(ctx, config, func() (bool, error) {
		_, err := config.client.Get(ctx, path)
		if client.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// poll calls the condition until it returns true or an error, within the time limit of operations.
func poll(ctx context.Context, config *config, condition func() (bool, error)) error {
	deadline := time.Now().Add(config.operationTimeout)
	for {
		isMet, err := condition()
		if isMet || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the operation did not end within %s; it continues. Check its status in the console, "+
				"and set operation_timeout of the provider", config.operationTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

func encodeTags(value any) any {
	tags := value.(map[string]any)
	list := make([]any, 0, len(tags))
	for key, tag := range tags {
		list = append(list, client.Object{"key": key, "value": tag})
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].(client.Object)["key"].(string) < list[j].(client.Object)["key"].(string)
	})
	return list
}

func decodeTags(value any) any {
	tags := map[string]any{}
	list, _ := value.([]any)
	for _, each := range list {
		if tag, isObject := each.(map[string]any); isObject {
			tags[fmt.Sprint(tag["key"])] = tag["value"]
		}
	}
	return tags
}

func decodeEndpoint(value any) any {
	list, _ := value.([]any)
	if len(list) == 0 {
		return nil
	}
	endpoint, _ := list[0].(map[string]any)
	host, _ := endpoint["dns_name"].(string)
	port, _ := endpoint["port"].(json.Number)
	if host == "" {
		return nil
	}
	return host + ":" + port.String()
}
