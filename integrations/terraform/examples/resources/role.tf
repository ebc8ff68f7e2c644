resource "shardboard_role" "readers" {
  name       = "readers"
  management = "none"
}
