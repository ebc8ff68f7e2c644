"""A new key and the request for it come from a process of the agent's own code, wherever the agent was started."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from shardboard.agent import key


def test_each_is_new_and_its_request_is_for_it() -> None:
    made = [key.fresh() for _ in range(2)]
    for private, csr in made:
        request = x509.load_pem_x509_csr(csr.encode())
        assert request.is_signature_valid
        assert request.public_key() == serialization.load_pem_private_key(private.encode(), None).public_key()
    assert made[0] != made[1]


def test_what_lies_where_the_agent_was_started_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    key.fresh()
