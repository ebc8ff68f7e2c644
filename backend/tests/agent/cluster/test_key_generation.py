"""Tests of key generation, which runs in a subprocess with the code of the agent and ignores the working directory."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from shardboard.agent.cluster import key_generation


def test_each_key_is_new_and_matches_its_certificate_request() -> None:
    results = [key_generation.generate() for _ in range(2)]
    for key, csr in results:
        request = x509.load_pem_x509_csr(csr.encode())
        assert request.is_signature_valid
        assert request.public_key() == serialization.load_pem_private_key(key.encode(), None).public_key()
    assert results[0] != results[1]


def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    key_generation.generate()
