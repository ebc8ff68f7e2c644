"""External CAs that the console trusts in addition, configured by an administrator."""

import ssl

MAX_LENGTH = 65_536


def ca_error(pem: str) -> str:
    """Return why a PEM text contains no CA certificates, as a predicate; empty if it is valid or empty."""
    if not pem:
        return ""
    if len(pem) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError, OSError):
        return "does not contain certificates in PEM format"
    return "" if context.get_ca_certs() else "does not contain a CA certificate"
