"""A new private key and the certificate request for it, PEM, as JSON on standard output: `python -m shardboard.agent.key`.

A process of its own: what makes keys would stay in the agent's memory, a fifth of it, for as long as it runs.
"""

import json
import subprocess
import sys

SECONDS = 60


def fresh() -> tuple[str, str]:
    """Key and request. The key is nowhere but here. Raises OSError or subprocess.SubprocessError."""
    made = subprocess.run([sys.executable, "-P", "-m", __name__], capture_output=True, timeout=SECONDS, check=True)
    told = json.loads(made.stdout)
    return told["key"], told["csr"]


def _make() -> tuple[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return key_pem.decode(), request.public_bytes(serialization.Encoding.PEM).decode()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dict(zip(("key", "csr"), _make(), strict=True))))
