package acceptance

import (
	"context"
	"fmt"
	"testing"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

func bdbPath(values map[string]any) string { return fmt.Sprintf("/v1/bdbs/%.0f", values["uid"]) }

func TestDatabaseIsCreatedChangedImportedAndDestroyed(t *testing.T) {
	workspace, console, ctx := newTerraform(t), api(t), context.Background()
	workspace.apply(`
resource "shardboard_database" "orders" {
  name            = "tf-orders"
  memory_size     = 200000000
  sharding        = true
  shards_count    = 2
  password        = "first-password"
  eviction_policy = "noeviction"
  tags            = { team = "shop", stage = "test" }
}
`)
	created := workspace.values("shardboard_database.orders")
	bdb, err := console.Get(ctx, bdbPath(created))
	if err != nil || bdb["status"] != "active" || bdb["authentication_redis_pass"] != "first-password" {
		t.Fatalf("%v, %v", bdb, err)
	}
	if created["port"] == 0.0 || created["endpoint"] == "" {
		t.Errorf("port and endpoint are missing in %v", created)
	}

	changed := `
resource "shardboard_database" "orders" {
  name             = "tf-orders-2"
  memory_size      = 300000000
  sharding         = true
  shards_count     = 3
  replication      = true
  slave_ha         = true
  shards_placement = "sparse"
  data_persistence = "aof"
  password         = "second-password"
  tags             = { team = "billing" }
}
`
	workspace.apply(changed)
	createdTime := bdb["created_time"]
	bdb, err = console.Get(ctx, bdbPath(created))
	if bdb["created_time"] != createdTime {
		t.Error("the database was replaced")
	}
	shape := fmt.Sprintf("%v %v %v", bdb["shards_count"], bdb["replication"], bdb["eviction_policy"])
	if err != nil || shape != "3 true volatile-lru" {
		t.Fatalf("%s, %v", shape, err)
	}

	// Changes outside Terraform are detected, and reverted by the next apply.
	if _, err := console.Put(ctx, bdbPath(created)+"?wait=30", client.Object{
		"eviction_policy": "allkeys-lru", "tags": []any{}, "max_connections": 7,
	}); err != nil {
		t.Fatal(err)
	}
	workspace.expectChange(`eviction_policy = "allkeys-lru" -> "volatile-lru"`, "max_connections = 7 -> 0", "tags = {")
	workspace.apply(changed)

	// An import by uid and by name leads to the same state.
	for _, id := range []string{fmt.Sprintf("%.0f", created["uid"]), "tf-orders-2"} {
		workspace.must("state", "rm", "shardboard_database.orders")
		workspace.must("import", "shardboard_database.orders", id)
		workspace.expectNoChanges()
	}

	// A database that was deleted outside Terraform is created again.
	if err := console.Delete(ctx, bdbPath(created)+"?wait=30"); err != nil {
		t.Fatal(err)
	}
	workspace.expectChange("1 to add, 0 to change, 0 to destroy")
	workspace.apply(changed)
	created = workspace.values("shardboard_database.orders")
	workspace.must("destroy", "-auto-approve")
	if _, err := console.Get(ctx, bdbPath(created)); !client.IsNotFound(err) {
		t.Errorf("the database was not deleted: %v", err)
	}
}
