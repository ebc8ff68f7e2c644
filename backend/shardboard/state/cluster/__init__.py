"""Tables for the cluster, its nodes, certificates and operations."""
