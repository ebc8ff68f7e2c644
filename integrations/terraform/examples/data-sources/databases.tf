data "shardboard_databases" "all" {
  depends_on = [shardboard_database.orders]
}

output "memory_of_databases" {
  value = sum(concat([0], data.shardboard_databases.all.databases[*].memory_size))
}
