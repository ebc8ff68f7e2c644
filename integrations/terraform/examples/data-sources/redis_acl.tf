data "shardboard_redis_acl" "full_access" {
  name = "Full Access"
}
