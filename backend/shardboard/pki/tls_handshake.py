"""TLS handshake in memory, to check whether two sides accept each other's certificates."""

import ssl


def handshake_error(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> str:
    """Return why one side rejects the other's certificate, such as "certificate has expired"; empty if both accept. `host` is the
    name that the client uses for the server.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    calling = client.wrap_bio(to_client, to_server, server_hostname=host)
    for side in (calling, server_side, calling, server_side):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return ""
