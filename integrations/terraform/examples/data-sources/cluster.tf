data "shardboard_cluster" "this" {}
