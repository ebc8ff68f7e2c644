"""Tests of the certificates that consoles share: their stored form, and requests for an intermediate CA."""

import pytest
from backend.tests.support.certificates import create_root_ca, sign_intermediate_ca

from shardboard.pki.certificate_state import CaRequest, CertificateState
from shardboard.pki.signer import CertificateAuthority


def test_stored_state_is_read_in_each_step() -> None:
    state = CertificateState.create()
    steps = [
        state,
        state.requesting(CaRequest.create("Shardboard CA", "")),
        (announced := state.announcing()),
        (switched := announced.switched()),
        switched.without_former().installing("certificate and key"),
    ]
    for step in steps:
        assert CertificateState.read(step.stored).stored == step.stored


def test_unusable_contents_are_an_error() -> None:
    stored = CertificateState.create().stored
    for column, content in (("ca", None), ("ca", "x"), ("next_ca", "x"), ("requested_ca", "x")):
        with pytest.raises(ValueError, match="The certificates in the store are not usable"):
            CertificateState.read({**stored, column: content})


def test_request_is_kept_until_it_is_answered() -> None:
    request = CaRequest.create("Shardboard CA of Example", "Example Ltd.")
    assert request.subject == "CN=Shardboard CA of Example,O=Example Ltd."
    state = CertificateState.create().requesting(request)
    open_request = CertificateState.read(state.stored).requested
    assert open_request is not None
    assert (open_request.csr, open_request.key.public_key()) == (request.csr, request.key.public_key())
    signed = CertificateAuthority(request.key, (sign_intermediate_ca(create_root_ca(), request.key).certificate,))
    assert state.announcing(signed).requested is None


def test_withdrawing_removes_the_announcement_or_the_request() -> None:
    state = CertificateState.create()
    assert state.announcing().withdrawn().stored == state.stored
    assert state.requesting(CaRequest.create("", "")).withdrawn().stored == state.stored


def test_request_omits_an_empty_organization() -> None:
    assert CaRequest.create("Shardboard CA", "").subject == "CN=Shardboard CA"
