"""`python -m shardboard.agent.cluster.key_generation`: print a new private key and its certificate request (PEM) as JSON.

It runs as a separate process: the cryptography library would take a fifth of the agent's memory for as long as the agent runs.
"""

import json
import subprocess
import sys

SECONDS = 60


def generate() -> tuple[str, str]:
    """Return a new key and its request. The key is not stored. Raises OSError or subprocess.SubprocessError."""
    result = subprocess.run([sys.executable, "-P", "-m", __name__], capture_output=True, timeout=SECONDS, check=True)
    pair = json.loads(result.stdout)
    return pair["key"], pair["csr"]


def make() -> tuple[str, str]:
    """Return a new key and its request, created in this process."""
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
    sys.stdout.write(json.dumps(dict(zip(("key", "csr"), make(), strict=True))))
