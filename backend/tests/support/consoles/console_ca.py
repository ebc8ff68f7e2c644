"""A console CA without a store."""

from pathlib import Path

from shardboard.pki.certificate_state import CertificateState
from shardboard.pki.console_ca import ConsoleCa
from shardboard.settings import Settings


def new_console_ca(settings: Settings) -> ConsoleCa:
    """Return a new CA that keeps its files in the state directory."""
    return ConsoleCa(CertificateState.create(), settings)


def restarted(ca: ConsoleCa, settings: Settings) -> ConsoleCa:
    """Return the CA of a console that has read the same state from the store."""
    return ConsoleCa(CertificateState.read(ca.state.stored), settings)


def client_file(ca: ConsoleCa, directory: Path) -> Path:
    """Write the certificate and key that consoles present to agents."""
    file = directory / "console-client.pem"
    file.write_text(ca.state.client)
    return file
