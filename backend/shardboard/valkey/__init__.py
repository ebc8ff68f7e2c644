"""Replies of Valkey, and a probe for its port."""
