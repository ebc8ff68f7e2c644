resource "shardboard_database_alerts" "orders" {
  database_uid = shardboard_database.orders.uid
  alerts = {
    bdb_size         = { enabled = true, threshold = "80" }
    bdb_high_latency = { enabled = true, threshold = "2000" }
  }
}
