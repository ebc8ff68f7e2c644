"""Joining the cluster, the agent's certificate, and checks of the machine."""
