"""Whom the console trusts outside of the cluster."""

import ssl


def context(ca: str) -> ssl.SSLContext:
    """What the system trusts, or these authorities alone (PEM)."""
    return ssl.create_default_context(cadata=ca or None)
