"""An authority of the console that somebody else's authority signed: whether it can do what the console needs it for."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard import chains
from shardboard.authority_files import Request
from shardboard.chains import UNREADABLE, Wrong
from shardboard.errors import BadRequest, NotAcceptable
from shardboard.handshakes import complaint
from shardboard.key_files import show
from shardboard.signer import Signer
from shardboard.tls import PEER_DAYS, is_strong, key_pem, pem


def accepted(chain: str, request: Request, present: Signer, names: Sequence[str]) -> Signer:
    """The authority that the request was for. `chain` is PEM: its certificate, then those above it. `present`: the one before;
    `names`: hosts and addresses that it is going to sign for. Raises BadRequest or NotAcceptable with what is wrong."""
    try:
        signer = Signer(request.key, chains.read(chain.encode()))
        _insist_on_key(signer)
        _insist_on_signing(signer.certificate)
        chains.insist_on_order(signer.chain)
        chains.insist_on_time(signer.chain)
        _insist_on_strength(signer)
        if signer.subject == present.subject:
            raise Wrong(
                "The present authority has this name, too: programs would take one for the other. Request another name."
            )
        if told := refusal(signer, names):
            raise Wrong(told)
    except Wrong as wrong:
        raise BadRequest("invalid_certificate", str(wrong), field=wrong.field) from wrong
    except UNREADABLE as error:
        raise BadRequest("invalid_certificate", "The certificate cannot be read.", field="certificate") from error
    if signer.ends < datetime.now(UTC) + timedelta(days=PEER_DAYS):
        sentence = f"It is good until {signer.ends:%Y-%m-%d} only. What it signs is made for {PEER_DAYS} days: take one for longer."
        raise NotAcceptable("certificate_expired", sentence, field="certificate")
    return signer


def refusal(signer: Signer, names: Sequence[str]) -> str:
    """Why what it signs for these hosts and addresses would not be taken; empty when it would. Finds what certificates above allow
    and forbid, as whoever checks them would: the console and its agents, and clients that trust the root."""
    for trusted in [signer.pem] + ([pem(signer.root).decode()] if signer.root else []):
        if told := _complaint(signer, trusted, names):
            return f"What it signs for {_culprit(signer, trusted, names)} is not taken: {told}."
    return ""


def _culprit(signer: Signer, trusted: str, names: Sequence[str]) -> str:
    """One of the names that are not taken."""
    while len(names) > 1:
        half = len(names) // 2
        names = names[:half] if _complaint(signer, trusted, names[:half]) else names[half:]
    return names[0]


def _insist_on_key(signer: Signer) -> None:
    if signer.certificate.public_key() != signer.key.public_key():
        name = chains.name_of(signer.certificate)
        raise Wrong(
            f"{name}, the first certificate, is not for the key of the request: sign the request that is open now."
        )
    if len(signer.chain) == 1 and not signer.is_external:
        raise Wrong(
            "It is signed by itself. To have no authority above the console's, replace it without a certificate."
        )


def _insist_on_signing(certificate: x509.Certificate) -> None:
    try:
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_authority = False
    if not is_authority:
        raise Wrong("It is not a certificate of an authority (basic constraints: CA).")
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not (usage.key_cert_sign and usage.crl_sign):
        raise Wrong("It may not sign both certificates and lists of refused ones (key usage: keyCertSign, cRLSign).")


def _insist_on_strength(signer: Signer) -> None:
    for each in signer.chain:
        if not is_strong(each.public_key()):
            name = chains.name_of(each)
            raise Wrong(f"The key of {name} is too weak: it takes an elliptic curve of 256 bits or RSA of 2048.")


def _complaint(signer: Signer, trusted: str, names: Sequence[str]) -> str:
    """Why one that trusts this (PEM) takes no certificate for these names; empty when it does."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.verify_mode = ssl.CERT_REQUIRED
    uses = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
    for context, held, usage in zip((server, client), (list(dict.fromkeys(names)), []), uses, strict=True):
        key = ec.generate_private_key(ec.SECP256R1())
        made = signer.sign(key.public_key(), held, [usage], PEER_DAYS, begins=signer.begins)
        try:
            show(context, pem(made) + signer.between.encode() + key_pem(key))
        except ssl.SSLError as error:
            return str(error.reason or error)
        context.load_verify_locations(cadata=trusted)
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return complaint(server, client, names[0])
