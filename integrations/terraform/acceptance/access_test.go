package acceptance

import (
	"context"
	"fmt"
	"testing"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

const access = `
resource "shardboard_role" "readers" {
  name       = "tf-readers"
  management = "none"
}

resource "shardboard_redis_acl" "read" {
  name = "tf-read"
  acl  = "+@READ  ~Cache:*"
}

resource "shardboard_database" "cache" {
  name        = "tf-cache"
  memory_size = 100000000
  roles_permissions = [{
    role_uid      = shardboard_role.readers.uid
    redis_acl_uid = shardboard_redis_acl.read.uid
  }]
}

resource "shardboard_role" "operators" {
  name          = "tf-operators"
  management    = "db_member"
  database_uids = [shardboard_database.cache.uid]
}

data "shardboard_role" "admin" {
  name = "DB Viewer"
}

resource "shardboard_user" "app" {
  name                = "tf-app"
  role_uids           = [shardboard_role.readers.uid]
  password_wo         = "written-only-%[1]d"
  password_wo_version = %[1]d
}

resource "shardboard_user" "ann" {
  email     = "tf-ann@example.org"
  name      = "Ann"
  role_uids = [data.shardboard_role.admin.uid]
  password  = "stored-password"
}

resource "shardboard_ldap_mapping" "operators" {
  name      = "tf-operators"
  dn        = "cn=operators,dc=example,dc=org"
  role_uids = [shardboard_role.operators.uid]
}
`

func TestAccessIsManaged(t *testing.T) {
	workspace, console, ctx := newTerraform(t), api(t), context.Background()
	workspace.apply(fmt.Sprintf(access, 1))
	app := workspace.values("shardboard_user.app")
	if app["password_wo"] != nil || app["password"] != nil {
		t.Errorf("the state contains the write-only password: %v", app)
	}
	userPath := fmt.Sprintf("/v1/users/%.0f", app["uid"])
	before, err := console.Get(ctx, userPath)
	if err != nil {
		t.Fatal(err)
	}

	// A new version sends the write-only password again.
	workspace.apply(fmt.Sprintf(access, 2))
	after, err := console.Get(ctx, userPath)
	if err != nil || after["password_issue_date"] == before["password_issue_date"] {
		t.Errorf("the password was not changed: %v, %v", after["password_issue_date"], err)
	}

	// Changes outside Terraform are detected.
	acl := workspace.values("shardboard_redis_acl.read")
	aclPath := fmt.Sprintf("/v1/redis_acls/%.0f", acl["uid"])
	if _, err := console.Put(ctx, aclPath, client.Object{"acl": "+@all ~*"}); err != nil {
		t.Fatal(err)
	}
	workspace.expectChange(`acl = "+@all ~*" -> "+@READ ~Cache:*"`)
	workspace.apply(fmt.Sprintf(access, 2))

	for resource, id := range map[string]string{
		"shardboard_role.readers":           "tf-readers",
		"shardboard_redis_acl.read":         fmt.Sprintf("%.0f", acl["uid"]),
		"shardboard_role.operators":         "tf-operators",
		"shardboard_ldap_mapping.operators": "cn=operators,dc=example,dc=org",
	} {
		workspace.must("state", "rm", resource)
		workspace.must("import", resource, id)
	}
	workspace.must("apply", "-auto-approve") // an imported ACL has the form of the console
	workspace.expectNoChanges()
}

const operation = `
resource "shardboard_database" "alerts" {
  name        = "tf-alerts"
  memory_size = 100000000
}

resource "shardboard_database_alerts" "alerts" {
  database_uid = shardboard_database.alerts.uid
  alerts = {
    bdb_size         = { enabled = true, threshold = "%[1]d.0" }
    bdb_high_latency = { enabled = false }
  }
}

resource "shardboard_cluster_alerts" "nodes" {
  alerts = {
    node_memory = { enabled = true, threshold = "%[1]d" }
    node_failed = { enabled = true }
  }
}

resource "shardboard_cluster_policy" "policy" {
  slave_ha_grace_period = %[1]d
}

resource "shardboard_webhook" "pager" {
  name   = "tf-pager"
  url    = "https://pager.example.org/%[1]d"
  secret = "signing-key"
  events = "all"
}

data "shardboard_databases" "all" {
  depends_on = [shardboard_database.alerts]
}
data "shardboard_nodes" "all" {}
data "shardboard_cluster" "this" {}
data "shardboard_database" "alerts" {
  name = shardboard_database.alerts.name
}

output "nodes" { value = length(data.shardboard_nodes.all.nodes) }
output "found" { value = contains(data.shardboard_databases.all.databases[*].name, "tf-alerts") }
output "endpoint" { value = data.shardboard_database.alerts.endpoint }
output "cluster" { value = data.shardboard_cluster.this.name }
`

func TestOperationIsManaged(t *testing.T) {
	workspace, console, ctx := newTerraform(t), api(t), context.Background()
	workspace.apply(fmt.Sprintf(operation, 70))
	expectTexts(t, workspace.must("output"), "found = true", "nodes = 3", "endpoint = \"127.")
	workspace.apply(fmt.Sprintf(operation, 75))
	policy, err := console.Get(ctx, "/v1/cluster/policy")
	if err != nil || fmt.Sprint(policy["slave_ha_grace_period"]) != "75" {
		t.Errorf("the policy was not changed: %v, %v", policy, err)
	}

	where := fmt.Sprintf("/v1/bdbs/alerts/%.0f", workspace.values("shardboard_database.alerts")["uid"])
	if _, err := console.Post(ctx, where, client.Object{"bdb_size": client.Object{"enabled": false}}); err != nil {
		t.Fatal(err)
	}
	if _, err := console.Put(ctx, "/v1/cluster/policy", client.Object{"slave_ha_grace_period": 5}); err != nil {
		t.Fatal(err)
	}
	pager := fmt.Sprintf("/v1/webhooks/%.0f", workspace.values("shardboard_webhook.pager")["uid"])
	if _, err := console.Put(ctx, pager, client.Object{"secret": ""}); err != nil {
		t.Fatal(err)
	}
	workspace.expectChange("enabled = false -> true", "slave_ha_grace_period = 5 -> 75", "secret = (sensitive value)")
	workspace.apply(fmt.Sprintf(operation, 75))

	for resource, id := range map[string]string{
		"shardboard_database_alerts.alerts": "tf-alerts",
		"shardboard_cluster_alerts.nodes":   "cluster",
		"shardboard_cluster_policy.policy":  "cluster",
		"shardboard_webhook.pager":          "tf-pager",
	} {
		workspace.must("state", "rm", resource)
		workspace.must("import", resource, id)
	}
	workspace.must("apply", "-auto-approve")
	workspace.expectNoChanges()
}
