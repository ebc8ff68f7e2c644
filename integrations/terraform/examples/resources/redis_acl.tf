resource "shardboard_redis_acl" "orders_read" {
  name = "orders-read"
  acl  = "+@read ~orders:*"
}
