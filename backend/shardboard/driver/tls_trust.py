"""TLS trust for connections to systems outside of the cluster."""

import ssl


def context(ca: str) -> ssl.SSLContext:
    """Return a context that trusts only these CA certificates (PEM), or those of the system if `ca` is empty."""
    return ssl.create_default_context(cadata=ca or None)
