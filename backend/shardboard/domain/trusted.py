"""Authorities whom an administrator has the console trust, outside of the cluster."""

import ssl

LONGEST = 65_536


def ca_fault(pem: str) -> str:
    """Why these are no certificates to trust (PEM); empty when they are, or when there are none."""
    if not pem:
        return ""
    if len(pem) > LONGEST:
        return f"is longer than {LONGEST} characters"
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError, OSError):
        return "holds no certificates in PEM"
    return "" if context.get_ca_certs() else "holds no certificate of an authority"
