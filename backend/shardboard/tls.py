"""The console's own certificate authority, and the certificates it signs.

    ca.pem      ten years; an agent pins it by the fingerprint in its join token
    server.pem  for the console's port: joining agents see it, and browsers unless another is installed
    client.pem  what the console shows to agents

The last two hold their keys, too. Both are renewed in time, and so are those of agents (`reconcilers/agent_certificates.py`).

A certificate is good for one direction only: an agent's (serverAuth) does not open another agent, which wants to see
clientAuth. Everything lives in `<state_dir>/tls`, the keys readable by the owner alone.
"""

import contextlib
import hashlib
import logging
import secrets
import socket
import ssl
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from shardboard.agent.contract.protocol import CONSOLE_NAME
from shardboard.errors import NotAcceptable
from shardboard.key_files import readable, remove_parts, write_private
from shardboard.settings import Settings

log = logging.getLogger(__name__)

CA_DAYS = 3650
SERVER_DAYS = 825
"""Longer ones are refused by some browsers even from an authority that the user trusts."""
PEER_DAYS = 90
"""Of what console and agents show each other."""
RENEW_DAYS = 90
"""Before the end of what lasts for longer. More than the days that an alert about it is raised before."""
_CLOCK_SKEW = timedelta(hours=1)

AgentKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey


class Authority:
    """Opened by `Authority.load`, which creates or renews what is missing or about to expire."""

    def __init__(self, directory: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self.directory = directory
        self._key = key
        self._certificate = certificate
        self.server_file = directory / "server.pem"
        """Certificate and key of `server`."""
        self.names: list[str] = []
        """Names and addresses that `server` holds for."""
        self._clients: ssl.SSLContext | None = None
        self._refused: frozenset[str] = frozenset()
        self._lists = 0
        """How many lists of refused certificates there have been."""

    @classmethod
    def load(cls, settings: Settings) -> "Authority":
        directory = _directory(settings)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (directory / "ca.pem").exists():
            _create_ca(directory)
        remove_parts(directory)
        authority = cls.existing(settings)
        authority.names = _own_names(settings.public_names)
        authority.renew()
        return authority

    @classmethod
    def existing(cls, settings: Settings) -> "Authority":
        """As a console made it before; changes nothing. FileNotFoundError when none did."""
        directory = _directory(settings)
        certificate = x509.load_pem_x509_certificate((directory / "ca.pem").read_bytes())
        key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            # A new authority would lock out every agent that trusts the old one: a person has to decide that.
            raise ValueError(f"{directory / 'ca.key'} is not the key of {directory / 'ca.pem'}")
        return cls(directory, key, certificate)

    @property
    def ends(self) -> datetime:
        return self._certificate.not_valid_after_utc

    @property
    def ca_pem(self) -> str:
        return pem(self._certificate).decode()

    @property
    def ca_file(self) -> Path:
        return self.directory / "ca.pem"

    def ca_fingerprint(self) -> str:
        """SHA-256 of the certificate (DER), hexadecimal."""
        return hashlib.sha256(self._certificate.public_bytes(serialization.Encoding.DER)).hexdigest()

    def renew(self) -> bool:
        """Make `server` and `client` anew when one is missing, damaged, for other names, or ends soon; whether `server` was. Raises
        OSError when one cannot be written and that before cannot be used any more."""
        self._ensure("client", [], ExtendedKeyUsageOID.CLIENT_AUTH, PEER_DAYS, self._always)
        if self._clients is not None:
            self._show(self._clients)
        return self._ensure("server", self.names, ExtendedKeyUsageOID.SERVER_AUTH, SERVER_DAYS)

    def client_ssl_context(self) -> ssl.SSLContext:
        """For calls to agents: proves who we are, and accepts only agents that joined under the address we call. One for all, in
        which `client` is renewed."""
        if self._clients is None:
            context = ssl.create_default_context(cafile=str(self.ca_file))
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
            self._show(context)
            self._refuse(context, self._refused)
            self._clients = context
        return self._clients

    def refuse(self, serials: Collection[str]) -> bool:
        """From the next connection on, these certificates of agents (serial numbers, hexadecimal) and no others are refused;
        whether that is news."""
        if (wanted := frozenset(serials)) == self._refused:
            return False
        if self._clients is not None:
            self._refuse(self._clients, wanted)
        self._refused = wanted
        return True

    def _refuse(self, context: ssl.SSLContext, serials: Collection[str]) -> None:
        # OpenSSL keeps all lists that it was given, and goes by the youngest: each begins a second after the one before.
        self._lists += 1
        begins = self._certificate.not_valid_before_utc + timedelta(seconds=self._lists)
        unsigned = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._certificate.subject)
            .last_update(begins)
            .next_update(self.ends)
        )
        for serial in sorted(serials):
            revoked = x509.RevokedCertificateBuilder().serial_number(int(serial, 16)).revocation_date(begins).build()
            unsigned = unsigned.add_revoked_certificate(revoked)
        with readable(unsigned.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)) as path:
            context.load_verify_locations(path)

    def _show(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self.directory / "client.pem")

    def sign_agent(self, csr_pem: str, addr: str, days: int = PEER_DAYS) -> str:
        """A certificate for the agent at `addr`. Only the key is taken from the request, never a name it asks for."""
        if normal_name(addr) == CONSOLE_NAME:  # joining agents trust whoever has it
            raise NotAcceptable("config_error", f"{CONSOLE_NAME} is the console's name.", field="addr")
        return pem(self._sign(_key_of(csr_pem), [addr], ExtendedKeyUsageOID.SERVER_AUTH, days, self._always)).decode()

    @property
    def _always(self) -> datetime:
        """Since when certificates hold that agents and console show each other: who had the wrong time in the hour in which one was
        renewed still takes it. Only the end matters there."""
        return self._certificate.not_valid_before_utc

    def _ensure(
        self, name: str, names: Sequence[str], usage: ObjectIdentifier, days: int, begins: datetime | None = None
    ) -> bool:
        file, now = self.directory / f"{name}.pem", datetime.now(UTC)
        present = self._usable(file)
        ends = present.not_valid_after_utc if present else now
        if present and names_of(present) == set(names) and not is_due(ends, days, now):
            return False
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            write_private(file, pem(self._sign(key.public_key(), names, usage, days, begins)) + key_pem(key))
        except OSError as error:
            if ends <= now:
                raise
            log.error("%s cannot be renewed, the one before is good until %s: %s", file, ends, error)
            return False
        file.with_suffix(".key").unlink(missing_ok=True)  # of an earlier release
        return True

    def _usable(self, file: Path) -> x509.Certificate | None:
        """The certificate in it, if its key is there, too, and we signed it."""
        try:
            content = file.read_bytes()
            certificate = x509.load_pem_x509_certificate(content)
            key = serialization.load_pem_private_key(content, None)
            certificate.verify_directly_issued_by(self._certificate)
            names_of(certificate)
        except (OSError, ValueError, TypeError, InvalidSignature):
            return None
        return certificate if key.public_key() == certificate.public_key() else None

    def _sign(
        self,
        public_key: AgentKey,
        names: Sequence[str],
        usage: ObjectIdentifier,
        days: int,
        begins: datetime | None = None,
    ) -> x509.Certificate:
        """It holds from now on without `begins`: browsers count the days of what they are shown."""
        common_name = names[0] if names and len(names[0]) <= 64 else "shardboard"
        unsigned = (
            builder(subject(common_name), self._certificate.subject, days, begins)
            .public_key(public_key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names:
            unsigned = unsigned.add_extension(
                x509.SubjectAlternativeName([_general_name(n) for n in names]), critical=False
            )
        return unsigned.sign(self._key, hashes.SHA256())


def is_due(ends: datetime, days: int, now: datetime) -> bool:
    """Whether a certificate that is made for so many days is to be made anew: it ends soon, which is after a third of few days,
    or an earlier release made it for longer."""
    return not timedelta(days=min(RENEW_DAYS, days * 2 // 3)) < ends - now < timedelta(days=days + 1)


def _directory(settings: Settings) -> Path:
    return settings.state_dir / "tls"


def _create_ca(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = subject(f"Shardboard CA {random_part()}")
    certificate = (
        builder(name, name, CA_DAYS)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(directory / "ca.key", key_pem(key))
    write_private(directory / "ca.pem", pem(certificate))


def _key_of(csr_pem: str) -> AgentKey:
    """The public key of a signing request, if its sender holds the private one and it is strong enough."""
    problem = "The certificate request cannot be read."
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion):
        request = x509.load_pem_x509_csr(csr_pem.encode())
        key = request.public_key()
        if not request.is_signature_valid:
            problem = "The signature of the certificate request is wrong."
        elif not is_strong(key):
            problem = (
                "The key of the certificate request is too weak; use an elliptic curve of 256 bits or RSA of 2048."
            )
        else:
            assert isinstance(key, AgentKey)  # noqa: S101 - `is_strong` lets nothing else pass
            return key
    raise NotAcceptable("invalid_certificate", problem, field="csr")


def is_strong(key: object) -> bool:
    match key:
        case ec.EllipticCurvePublicKey():
            return key.curve.key_size >= 256
        case rsa.RSAPublicKey():
            return key.key_size >= 2048
    return isinstance(key, ed25519.Ed25519PublicKey)


def _own_names(public_names: Sequence[str]) -> list[str]:
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), CONSOLE_NAME, *public_names]
    return list(dict.fromkeys(normal_name(name) for name in names if name))


def normal_name(name: str) -> str:
    """One spelling per host name or address."""
    try:
        return str(ip_address(name))
    except ValueError:
        return name.lower()


def names_of(certificate: x509.Certificate) -> set[str]:
    """Of hosts. Raises ValueError when its extensions cannot be read."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in names}


def _general_name(name: str) -> x509.GeneralName:
    address: IPv4Address | IPv6Address
    try:
        address = ip_address(name)
    except ValueError:
        return x509.DNSName(name)
    return x509.IPAddress(address)


def random_part() -> str:
    """Tells authorities apart that meet in one trust store."""
    return secrets.token_hex(4)


def builder(owner: x509.Name, issuer: x509.Name, days: int, begins: datetime | None = None) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(owner)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins or now - _CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def serial_of(certificate: str) -> str:
    """Of a certificate in PEM: hexadecimal, in small letters."""
    return f"{x509.load_pem_x509_certificate(certificate.encode()).serial_number:x}"


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
