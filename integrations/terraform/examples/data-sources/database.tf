data "shardboard_database" "orders" {
  name = shardboard_database.orders.name
}

output "orders_endpoint" {
  value = data.shardboard_database.orders.endpoint
}
