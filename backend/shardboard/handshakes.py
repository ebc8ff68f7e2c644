"""Whether two sides of TLS take each other's certificates, found out without a connection."""

import ssl


def complaint(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> str:
    """Why one of them does not take what the other shows, such as "certificate has expired"; empty when both do. `host` is what the
    client calls the server."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    calling = client.wrap_bio(to_client, to_server, server_hostname=host)
    for side in (calling, serving, calling, serving):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return ""
