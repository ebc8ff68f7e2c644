"""Changes to the cluster, its nodes, certificates and operations."""
