resource "shardboard_cluster_alerts" "this" {
  alerts = {
    node_failed = { enabled = true }
    node_memory = { enabled = true, threshold = "80" }
  }
}
