resource "shardboard_database" "orders" {
  name             = "orders"
  memory_size      = 1073741824
  sharding         = true
  shards_count     = 2
  replication      = true
  data_persistence = "aof"
  password         = var.orders_password
  tags             = { team = "shop" }

  roles_permissions = [{
    role_uid      = shardboard_role.readers.uid
    redis_acl_uid = shardboard_redis_acl.orders_read.uid
  }]
}

variable "orders_password" {
  type      = string
  sensitive = true
}
