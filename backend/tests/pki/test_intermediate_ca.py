"""Tests of CA certificates signed by an external CA: which are accepted, and why others are refused."""

from datetime import timedelta
from ipaddress import ip_network

import pytest
from backend.tests.support.certificates import SignedCertificate, create_root_ca, sign, sign_intermediate_ca
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.errors import ApiError
from shardboard.pki.certificate_state import CaRequest
from shardboard.pki.intermediate_ca import validate_intermediate_ca
from shardboard.pki.signer import CertificateAuthority

NAMES = ["localhost", "127.0.0.1", "192.0.2.7", "console.example.com"]
ROOT = create_root_ca()
REQUEST = CaRequest.create("Shardboard CA", "")
PRESENT = CertificateAuthority.create("Shardboard CA of before", 100)


def usage(*, signs: bool, lists: bool) -> x509.KeyUsage:
    others = dict.fromkeys(
        ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
    )
    return x509.KeyUsage(**others, key_cert_sign=signs, crl_sign=lists, encipher_only=False, decipher_only=False)


def chain(*each: SignedCertificate) -> str:
    return "".join(certificate.pem for certificate in each)


def test_chain_is_accepted_with_and_without_the_root() -> None:
    intermediate = sign_intermediate_ca(ROOT, REQUEST.key, usage(signs=True, lists=True))
    for certificates in (chain(intermediate, ROOT), chain(intermediate)):
        signer = validate_intermediate_ca(certificates, REQUEST, PRESENT, NAMES)
        assert signer.is_external
        assert signer.pem == intermediate.pem
        assert signer.intermediates_pem == intermediate.pem, "the root is not presented"


def test_chain_with_two_intermediates_is_accepted() -> None:
    middle = sign_intermediate_ca(ROOT, ec.generate_private_key(ec.SECP256R1()), name="between")
    intermediate = sign_intermediate_ca(middle, REQUEST.key)
    signer = validate_intermediate_ca(chain(intermediate, middle, ROOT), REQUEST, PRESENT, NAMES)
    assert signer.intermediates_pem == intermediate.pem + middle.pem


def test_arbitrary_subject_key_identifier_is_accepted() -> None:
    """CAs may use identifiers other than the SHA-1 of the key."""
    intermediate = sign_intermediate_ca(ROOT, REQUEST.key, x509.SubjectKeyIdentifier(b"in another way"))
    assert (
        validate_intermediate_ca(chain(intermediate, ROOT), REQUEST, PRESENT, NAMES).key_id == b"in another way".hex()
    )


WEAK = sign("weak", names=(), usage=None, valid_until=timedelta(days=999), key=rsa.generate_private_key(65537, 1024))  # noqa: S505 - on purpose
OTHER = ec.generate_private_key(ec.SECP256R1())
PERMITTED = x509.NameConstraints([x509.DNSName("example.com"), x509.IPAddress(ip_network("192.0.2.0/24"))], None)
FORBIDDEN = x509.NameConstraints(None, [x509.DNSName("example.com")])


@pytest.mark.parametrize(
    ("certificates", "message"),
    [
        ("nonsense", "not a certificate in PEM"),
        ("", "not a certificate in PEM"),
        (chain(sign_intermediate_ca(ROOT, OTHER), ROOT), "does not match the key of the request"),
        (chain(ROOT, sign_intermediate_ca(ROOT, REQUEST.key)), "does not match the key of the request"),
        (sign("self", names=(), key=REQUEST.key, usage=None, valid_until=timedelta(days=400)).pem, "self-signed"),
        (sign("leaf", ROOT, key=REQUEST.key, valid_until=timedelta(days=400)).pem, "not a CA certificate"),
        (chain(sign_intermediate_ca(ROOT, REQUEST.key), create_root_ca("another")), "did not sign the previous one"),
        (chain(sign_intermediate_ca(ROOT, REQUEST.key, usage(signs=True, lists=False))), "keyCertSign, cRLSign"),
        (chain(sign_intermediate_ca(ROOT, REQUEST.key, usage(signs=False, lists=True))), "keyCertSign, cRLSign"),
        (chain(sign_intermediate_ca(ROOT, REQUEST.key, valid_until=timedelta(days=-1))), "expired on"),
        (
            chain(sign_intermediate_ca(ROOT, REQUEST.key, valid_until=timedelta(days=80))),
            "must be valid for at least 90 more days",
        ),
        (
            chain(sign_intermediate_ca(ROOT, REQUEST.key, PERMITTED)),
            "for localhost are rejected: permitted subtree violation",
        ),
        (chain(sign_intermediate_ca(ROOT, REQUEST.key, name="Shardboard CA of before")), "has the same name"),
        (chain(sign_intermediate_ca(WEAK, REQUEST.key), WEAK), "key of CN=weak is too weak"),
        (
            chain(sign_intermediate_ca(ROOT, REQUEST.key, FORBIDDEN)),
            r"for console\.example\.com are rejected: excluded subtree violation",
        ),
        (
            chain(sign_intermediate_ca(ROOT, REQUEST.key, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]))),
            "are rejected: (unsuitable|unsupported) certificate purpose",
        ),
    ],
    ids=range(16),
)
def test_unusable_chains_are_refused(certificates: str, message: str) -> None:
    with pytest.raises(ApiError, match=message) as refusal:
        validate_intermediate_ca(certificates, REQUEST, PRESENT, NAMES)
    assert refusal.value.field == "certificate"
