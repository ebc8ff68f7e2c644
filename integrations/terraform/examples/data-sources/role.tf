data "shardboard_role" "db_member" {
  name = "DB Member"
}
