package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var clusterPolicy = object{
	name: "cluster_policy", noun: "cluster policy", path: "/v1/cluster/policy",
	description: "The policy of the cluster: defaults of new databases, and other rules. Rules that are not set keep their values, " +
		"and so do all of them when the resource is destroyed.",
	settings: &settings{},
	fields: []field{
		rule("shards_overbooking", types.BoolType, "Whether memory limits of databases can exceed the memory of the nodes."),
		rule("rack_aware", types.BoolType, "Whether databases can be rack-aware."),
		rule("default_shards_placement", types.StringType, "`dense` or `sparse`."),
		rule("default_sharded_proxy_policy", types.StringType, "`single`, `all-master-shards`, or `all-nodes`."),
		rule("default_non_sharded_proxy_policy", types.StringType, "`single`, `all-master-shards`, or `all-nodes`."),
		rule("data_internode_encryption", types.BoolType, "Whether new databases encrypt traffic between nodes."),
		rule("acl_pubsub_default", types.StringType, "`resetchannels` or `allchannels`."),
		rule("failure_detection_sensitivity", types.StringType, "`high` or `low`."),
		rule("slave_ha", types.BoolType, "Whether lost replicas are created again on other nodes."),
		rule("slave_ha_grace_period", types.Int64Type, "Seconds before a lost replica is created again."),
		rule("slave_ha_cooldown_period", types.Int64Type, "Minimum seconds between two replacements in the cluster."),
		rule("slave_ha_bdb_cooldown_period", types.Int64Type, "Minimum seconds between two replacements in a database."),
		rule("max_simultaneous_backups", types.Int64Type, "Maximum number of backups of a node at a time; 0: no limit."),
		rule("login_lockout_threshold", types.Int64Type, "Failed sign-ins before an account is locked; 0: never."),
		rule("login_lockout_duration", types.Int64Type, "Seconds for which an account is locked."),
		rule("login_lockout_counter_reset_after", types.Int64Type, "Seconds after which failed sign-ins are no longer counted."),
		rule("metrics_auth", types.BoolType, "Whether the metrics exporter requires credentials."),
		rule("events_keep_days", types.Int64Type, "Days for which events are kept; 0: no limit. Shardboard only."),
		rule("audit_keep_days", types.Int64Type, "Days for which the audit log is kept; 0: no limit. Shardboard only."),
		rule("second_factor_required", types.BoolType, "Whether users must use two-factor authentication. Shardboard only."),
	},
}

func rule(name string, kind attr.Type, description string) field {
	return field{name: name, kind: kind, usage: adopted, description: description}
}
