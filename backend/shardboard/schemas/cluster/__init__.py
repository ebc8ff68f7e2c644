"""Request and reply models for the cluster, its nodes, certificates and operations."""
