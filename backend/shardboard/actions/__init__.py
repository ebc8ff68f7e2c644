"""Queueing of long operations that users or background loops request. Reconcilers carry them out."""
