"""Decisions about the cluster, its nodes, certificates and operations."""
