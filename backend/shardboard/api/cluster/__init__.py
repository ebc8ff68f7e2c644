"""Endpoints for the cluster, its nodes, certificates and operations."""
