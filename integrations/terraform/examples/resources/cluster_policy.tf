resource "shardboard_cluster_policy" "this" {
  default_shards_placement = "sparse"
  slave_ha_grace_period    = 300
}
