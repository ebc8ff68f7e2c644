"""Loops that observe the cluster, its nodes, certificates and operations."""
