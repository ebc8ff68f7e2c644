package provider

import (
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

var alert = types.ObjectType{AttrTypes: map[string]attr.Type{"enabled": types.BoolType, "threshold": types.StringType}}

func alertsField(api string, encode func(any) any, description string) field {
	return field{
		name: "alerts", api: api, kind: types.MapType{ElemType: alert}, description: description,
		optionalMembers: []string{"threshold"}, encode: encode, decode: decodeAlerts, reconcile: reconcileAlerts,
	}
}

var databaseAlerts = object{
	name: "database_alerts", noun: "alert settings", path: "/v1/bdbs/alerts",
	description: "Alert settings of a database. Alerts that are not listed keep their settings, and so do all of them when the " +
		"resource is destroyed.",
	settings: &settings{owner: &database, member: "alerts", isPost: true},
	fields: []field{
		{name: "database_uid", kind: types.Int64Type, isFixed: true, isLocal: true, description: "Uid of the database."},
		alertsField("", nil, "Alerts by name, such as `bdb_size`: whether each is enabled, and its threshold as text."),
	},
}

var clusterAlerts = object{
	name: "cluster_alerts", noun: "alert settings", path: "/v1/cluster",
	description: "Alert settings of the cluster and its nodes. Alerts that are not listed keep their settings, and so do all of " +
		"them when the resource is destroyed.",
	settings: &settings{},
	fields: []field{
		alertsField("alert_settings", encodeClusterAlerts, "Alerts by name, such as `node_memory`: whether each is "+
			"enabled, and its threshold as text. Alerts that have a threshold need it here."),
	},
}

var webhook = object{
	name: "webhook", noun: "webhook", path: "/v1/webhooks", names: []string{"name"},
	description: "A receiver of alarms, events, or the audit log. Shardboard only: Redis Software has no such API. " +
		"The API never returns the secret. Of changes outside Terraform, only the removal of a stored `secret` is detected.",
	fields: withSecretVariants([]field{
		uidField("webhook"),
		{name: "name", kind: types.StringType, description: "Name."},
		{
			name: "kind", kind: types.StringType, usage: optional, fallback: types.StringValue("webhook"), isFixed: true,
			description: "`webhook`, `alertmanager`, `email`, or `syslog`. Changes replace the webhook.",
		},
		{name: "url", kind: types.StringType, description: "Address of the receiver."},
		{
			name: "secret", kind: types.StringType, usage: optional, isSecret: true, presence: "is_signed",
			description: "Key that signs messages. Without it, messages are not signed.",
		},
		{name: "ca", kind: types.StringType, usage: optional, description: "CA certificates (PEM) to trust."},
		{
			name: "events", kind: types.StringType, usage: optional, fallback: types.StringValue("alarms"),
			description: "`alarms`, `all` events, or the `audit` log.",
		},
		{
			name: "min_severity", kind: types.StringType, usage: adopted,
			description: "Lowest severity that is sent: `INFO`, `WARNING`, or `ERROR`.",
		},
		{
			name: "enabled", kind: types.BoolType, usage: optional, fallback: types.BoolValue(true),
			description: "Whether messages are sent.",
		},
	}),
}

// encodeClusterAlerts sends alerts without a threshold as true or false.
func encodeClusterAlerts(value any) any {
	encoded := client.Object{}
	for name, each := range value.(client.Object) {
		setting := each.(client.Object)
		if _, hasThreshold := setting["threshold"]; hasThreshold {
			encoded[name] = setting
		} else {
			encoded[name] = setting["enabled"]
		}
	}
	return encoded
}

// decodeAlerts reads alerts, and alerts without a threshold that are only true or false.
func decodeAlerts(value any) any {
	alerts := client.Object{}
	reply, _ := value.(client.Object)
	for name, each := range reply {
		switch each := each.(type) {
		case bool:
			alerts[name] = client.Object{"enabled": each}
		case client.Object:
			alerts[name] = client.Object{"enabled": each["enabled"], "threshold": each["threshold"]}
		}
	}
	return alerts
}

// reconcileAlerts keeps the alerts that the configuration lists, and the form of their thresholds.
func reconcileAlerts(prior, current attr.Value) attr.Value {
	managed := attributes{}
	for name, before := range prior.(types.Map).Elements() {
		now, exists := current.(types.Map).Elements()[name]
		if exists {
			managed[name] = reconcileAlert(before.(types.Object), now.(types.Object))
		}
	}
	return types.MapValueMust(alert, managed)
}

func reconcileAlert(before, now types.Object) attr.Value {
	prior, current := before.Attributes()["threshold"].(types.String), now.Attributes()["threshold"].(types.String)
	threshold := current
	if prior.IsNull() || isSameNumber(prior.ValueString(), current.ValueString()) {
		threshold = prior
	}
	return types.ObjectValueMust(alert.AttrTypes, attributes{
		"enabled": now.Attributes()["enabled"], "threshold": threshold,
	})
}

func isSameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
