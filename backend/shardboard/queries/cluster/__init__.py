"""Checks of hosts, and the cluster before its creation."""
