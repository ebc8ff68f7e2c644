"""Validation of an intermediate CA for the console, signed by an external CA."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.errors import BadRequest, NotAcceptable
from shardboard.pki import certificate_chain
from shardboard.pki.certificate_chain import UNREADABLE, InvalidCertificateChain
from shardboard.pki.certificate_state import CaRequest
from shardboard.pki.key_files import load_certificate
from shardboard.pki.signer import CertificateAuthority
from shardboard.pki.tls import PEER_DAYS, is_strong, key_pem, pem
from shardboard.pki.tls_handshake import handshake_error


def validate_intermediate_ca(
    chain: str, request: CaRequest, current: CertificateAuthority, names: Sequence[str]
) -> CertificateAuthority:
    """Return the CA for a request. `chain` (PEM) is its certificate followed by its issuers, `present` the current CA, `names` the
    hosts and addresses that it will sign certificates for. Raises BadRequest or NotAcceptable with the reason if it is unsuitable.
    """
    try:
        intermediate = CertificateAuthority(request.key, certificate_chain.parse_chain(chain.encode()))
        _check_key(intermediate)
        _check_ca(intermediate.certificate)
        certificate_chain.check_order(intermediate.chain)
        certificate_chain.check_validity_period(intermediate.chain)
        _check_strength(intermediate)
        if intermediate.subject == current.subject:
            raise InvalidCertificateChain(
                "The current CA has the same name, so clients could confuse them. Request a different name."
            )
        if reason := rejection_reason(intermediate, names):
            raise InvalidCertificateChain(reason)
    except InvalidCertificateChain as chain_error:
        raise BadRequest("invalid_certificate", str(chain_error), field=chain_error.field) from chain_error
    except UNREADABLE as error:
        raise BadRequest("invalid_certificate", "The certificate is not readable.", field="certificate") from error
    if intermediate.valid_until < datetime.now(UTC) + timedelta(days=PEER_DAYS):
        message = f"The CA expires on {intermediate.valid_until:%Y-%m-%d}. It must be valid for at least {PEER_DAYS} more days."
        raise NotAcceptable("certificate_expired", message, field="certificate")
    return intermediate


def rejection_reason(ca: CertificateAuthority, names: Sequence[str]) -> str:
    """Return why certificates that it signs for these hosts and addresses would be rejected; empty if they are valid. This verifies
    constraints of the issuers as a peer would: the console and its agents, and clients that trust the root CA.
    """
    for trusted_pem in [ca.pem] + ([pem(ca.root).decode()] if ca.root else []):
        if reason := _rejection(ca, trusted_pem, names):
            return f"Certificates that it signs for {_rejected_name(ca, trusted_pem, names)} are rejected: {reason}."
    return ""


def _rejected_name(ca: CertificateAuthority, trusted: str, names: Sequence[str]) -> str:
    """Return one of the names that are rejected."""
    while len(names) > 1:
        half = len(names) // 2
        names = names[:half] if _rejection(ca, trusted, names[:half]) else names[half:]
    return names[0]


def _check_key(ca: CertificateAuthority) -> None:
    if ca.certificate.public_key() != ca.key.public_key():
        name = certificate_chain.display_name(ca.certificate)
        raise InvalidCertificateChain(
            f"{name}, the first certificate, does not match the key of the request. Sign the current request."
        )
    if len(ca.chain) == 1 and not ca.is_external:
        raise InvalidCertificateChain(
            "The certificate is self-signed. To use a self-signed CA, replace the CA without a certificate."
        )


def _check_ca(certificate: x509.Certificate) -> None:
    try:
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    if not is_authority:
        raise InvalidCertificateChain("The certificate is not a CA certificate (basic constraints: CA).")
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not (usage.key_cert_sign and usage.crl_sign):
        raise InvalidCertificateChain(
            "The CA is not allowed to sign certificates and revocation lists (key usage: keyCertSign, cRLSign)."
        )


def _check_strength(ca: CertificateAuthority) -> None:
    for each in ca.chain:
        if not is_strong(each.public_key()):
            name = certificate_chain.display_name(each)
            raise InvalidCertificateChain(
                f"The key of {name} is too weak. Use an elliptic curve of 256 bits or RSA with 2048 bits."
            )


def _rejection(ca: CertificateAuthority, trusted: str, names: Sequence[str]) -> str:
    """Return why a peer that trusts this CA (PEM) rejects certificates for these names; empty if it accepts them."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.verify_mode = ssl.CERT_REQUIRED
    usages = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
    for context, peer_names, usage in zip((server, client), (list(dict.fromkeys(names)), []), usages, strict=True):
        key = ec.generate_private_key(ec.SECP256R1())
        signed = ca.sign(key.public_key(), peer_names, [usage], PEER_DAYS, valid_from=ca.valid_from)
        try:
            load_certificate(context, pem(signed) + ca.intermediates_pem.encode() + key_pem(key))
        except ssl.SSLError as error:
            return str(error.reason or error)
        context.load_verify_locations(cadata=trusted)
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return handshake_error(server, client, names[0])
