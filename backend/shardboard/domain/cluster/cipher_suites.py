"""The cipher suites of the console and of endpoints, in the fields of the reference's cluster object. They cannot be changed."""

import ssl
from functools import cache
from typing import Any

_ENDPOINT_SUITES = (
    *("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    *("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
)
_ENDPOINT_SUITES_TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")
"""The suites of rustls, which the proxies use (`engine/proxy/src/tls.rs`)."""


@cache
def cipher_suites() -> dict[str, Any]:
    """Return the fields. The console uses the defaults of OpenSSL."""
    console = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).get_ciphers()
    return {
        "control_cipher_suites": ":".join(each["name"] for each in console if each["protocol"] == "TLSv1.2"),
        "control_cipher_suites_tls_1_3": ":".join(each["name"] for each in console if each["protocol"] == "TLSv1.3"),
        "data_cipher_list": ":".join(_ENDPOINT_SUITES),
        "data_cipher_suites_tls_1_3": ":".join(_ENDPOINT_SUITES_TLS_1_3),
        "sentinel_cipher_suites": [],
        "sentinel_cipher_suites_tls_1_3": "",
    }
