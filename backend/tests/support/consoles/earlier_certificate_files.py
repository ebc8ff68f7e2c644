"""Files of the console CA as an earlier release wrote them."""

from pathlib import Path

from shardboard.pki.certificate_state import CertificateState

FILES = {
    "ca": "ca.key",
    "next_ca": "next-ca.pem",
    "former_ca": "former-ca.pem",
    "requested_ca": "requested-ca.pem",
    "client": "client.pem",
    "installed": "installed.pem",
}


def write_files(directory: Path, state: CertificateState) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for column, name in FILES.items():
        if content := state.stored[column]:
            (directory / name).write_text(content)
    (directory / "ca.pem").write_text(state.current.chain_pem)


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}
