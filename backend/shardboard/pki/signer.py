"""A CA with its private key, which signs certificates and revocation lists."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ObjectIdentifier

from shardboard.pki import tls
from shardboard.pki.tls import AgentKey, key_pem, pem


@dataclass(frozen=True)
class CertificateAuthority:
    """A self-signed or intermediate CA."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    chain: tuple[x509.Certificate, ...]
    """Its certificate, followed by those of its issuers as far as known."""

    @classmethod
    def create(cls, name: str, days: int) -> "CertificateAuthority":
        """Create a self-signed CA."""
        key = ec.generate_private_key(ec.SECP256R1())
        owner = tls.subject(name)
        certificate = (
            tls.certificate_builder(owner, owner, days)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(tls.key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(key, (certificate,))

    @classmethod
    def read(cls, certificates: bytes, key: bytes) -> "CertificateAuthority":
        """Parse PEM, which may contain other blocks. Raises ValueError or TypeError."""
        private_key = serialization.load_pem_private_key(key, None)
        chain = tuple(x509.load_pem_x509_certificates(certificates))
        if not isinstance(private_key, ec.EllipticCurvePrivateKey) or private_key.public_key() != chain[0].public_key():
            raise ValueError("the key does not match the certificate")
        return cls(private_key, chain)

    def stored(self) -> bytes:
        """Return key and chain (PEM) for `read`."""
        return self.chain_pem.encode() + key_pem(self.key)

    @property
    def certificate(self) -> x509.Certificate:
        return self.chain[0]

    @cached_property
    def pem(self) -> str:
        return pem(self.certificate).decode()

    @property
    def chain_pem(self) -> str:
        return b"".join(pem(each) for each in self.chain).decode()

    @cached_property
    def intermediates_pem(self) -> str:
        """Intermediate certificates (PEM) that a server must send with its certificate to peers that only trust the root CA."""
        return b"".join(pem(each) for each in self.chain if each.issuer != each.subject).decode()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate (DER), hexadecimal."""
        return self.certificate.fingerprint(hashes.SHA256()).hex()

    @property
    def subject(self) -> str:
        return self.certificate.subject.rfc4514_string()

    @property
    def issuer(self) -> str:
        return self.certificate.issuer.rfc4514_string()

    @property
    def is_external(self) -> bool:
        """Whether it is an intermediate CA of an external issuer."""
        return self.certificate.issuer != self.certificate.subject

    @property
    def root(self) -> x509.Certificate | None:
        """The root certificate, if known."""
        top = self.chain[-1]
        return top if top.issuer == top.subject else None

    @property
    def valid_from(self) -> datetime:
        return self.certificate.not_valid_before_utc

    @property
    def valid_until(self) -> datetime:
        """Earliest expiry in the chain. No certificate signed by this CA is valid for longer."""
        return min(each.not_valid_after_utc for each in self.chain)

    @cached_property
    def _identifier(self) -> x509.AuthorityKeyIdentifier:
        """The key identifier in the form that the issuer of the CA uses."""
        try:
            identifier = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)

    @cached_property
    def key_id(self) -> str:
        """Identifier of the key in the certificates that it signs (`tls.signing_key_of`)."""
        return (self._identifier.key_identifier or b"").hex()

    def sign(
        self,
        key: AgentKey,
        names: Sequence[str],
        uses: Sequence[ObjectIdentifier],
        days: int,
        *,
        valid_from: datetime | None = None,
        common_name: str = "shardboard",
    ) -> x509.Certificate:
        """Return a signed certificate. Without `begins` it is valid from now on, because browsers limit the lifetime of server
        certificates.
        """
        builder = (
            tls.certificate_builder(
                tls.subject(common_name), self.certificate.subject, days, valid_from, self.valid_until
            )
            .public_key(key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(tls.key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(self._identifier, critical=False)
        )
        if names:
            alternative_names = x509.SubjectAlternativeName([_general_name(each) for each in names])
            builder = builder.add_extension(alternative_names, critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def revocation_list(self, serials: Collection[str]) -> bytes:
        """Return a revocation list (PEM) of certificates (hexadecimal serial numbers). It identifies the signing key, so that two
        CAs with the same name can each have a list.
        """
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(self.valid_from)
            .next_update(self.certificate.not_valid_after_utc)
            .add_extension(self._identifier, critical=False)
        )
        for serial in sorted(serials):
            revoked = (
                x509.RevokedCertificateBuilder().serial_number(int(serial, 16)).revocation_date(self.valid_from).build()
            )
            builder = builder.add_revoked_certificate(revoked)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
