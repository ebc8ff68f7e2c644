data "shardboard_nodes" "all" {}

output "node_addresses" {
  value = data.shardboard_nodes.all.nodes[*].address
}
