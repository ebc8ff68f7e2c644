package provider

import "github.com/hashicorp/terraform-plugin-framework/types"

var databases = listing{
	name: "databases", path: "/v1/bdbs", list: "databases", description: "All databases.",
	fields: []field{
		uidField("database"),
		{name: "name", kind: types.StringType, usage: computed, description: "Name."},
		{name: "status", kind: types.StringType, usage: computed, description: "Status, such as `active`."},
		{name: "memory_size", kind: types.Int64Type, usage: computed, description: "Memory limit in bytes."},
		{name: "port", kind: types.Int64Type, usage: computed, description: "Port of the endpoint."},
		{name: "shards_count", kind: types.Int64Type, usage: computed, description: "Number of primaries."},
		{name: "replication", kind: types.BoolType, usage: computed, description: "Whether primaries have replicas."},
		{
			name: "tags", kind: types.MapType{ElemType: types.StringType}, usage: computed, decode: decodeTags,
			description: "Tags by key.",
		},
		{
			name: "endpoint", api: "endpoints", kind: types.StringType, usage: computed, decode: decodeEndpoint,
			description: "Host and port that clients connect to.",
		},
	},
}

var nodes = listing{
	name: "nodes", path: "/v1/nodes", list: "nodes", description: "All nodes.",
	fields: []field{
		uidField("node"),
		{name: "address", api: "addr", kind: types.StringType, usage: computed, description: "IP address."},
		{name: "status", kind: types.StringType, usage: computed, description: "Status, such as `active`."},
		{name: "rack_id", kind: types.StringType, usage: computed, description: "Zone."},
		{name: "cores", kind: types.Int64Type, usage: computed, description: "Number of CPU cores."},
		{name: "total_memory", kind: types.Int64Type, usage: computed, description: "Memory in bytes."},
		{name: "shard_count", kind: types.Int64Type, usage: computed, description: "Number of shards."},
		{name: "software_version", kind: types.StringType, usage: computed, description: "Version of the node software."},
	},
}

var cluster = listing{
	name: "cluster", path: "/v1/cluster", description: "The cluster.",
	fields: []field{
		{name: "name", kind: types.StringType, usage: computed, description: "Name."},
		{name: "rack_aware", kind: types.BoolType, usage: computed, description: "Whether databases can be rack-aware."},
		{name: "created_time", kind: types.StringType, usage: computed, description: "Time of creation."},
	},
}
