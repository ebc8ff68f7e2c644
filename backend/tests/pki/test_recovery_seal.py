"""Tests that only a console with the CA can write and read copies, and that agents cannot change them."""

import base64
import json
import zlib

import pytest

from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.pki import recovery_seal
from shardboard.pki.recovery_seal import Envelope, SealError, seal, unseal
from shardboard.pki.signer import CertificateAuthority

CA, OTHER_CA = CertificateAuthority.create("a", 10), CertificateAuthority.create("b", 10)
VERSION = CopyVersion(name="bdb-1", term=3, counter=7)
SECRET = b'{"admin_password": "secret"}'


@pytest.fixture
def copy() -> RecoveryCopy:
    return seal(CA, VERSION, SECRET)


def with_field(copy: RecoveryCopy, **fields: object) -> RecoveryCopy:
    return copy.model_copy(update={"content": json.dumps(json.loads(copy.content) | fields)})


def test_copy_is_readable_with_the_ca_only(copy: RecoveryCopy) -> None:
    assert unseal(CA, copy) == SECRET
    assert unseal(CertificateAuthority.read(CA.stored(), CA.stored()), copy) == SECRET
    assert b"secret" not in copy.content.encode()
    assert b"secret" not in zlib.compress(base64.b64decode(Envelope.parse(copy.content).sealed))
    with pytest.raises(SealError, match="another console CA"):
        unseal(OTHER_CA, copy)


@pytest.mark.parametrize("change", [{"name": "bdb-2"}, {"term": 4}, {"counter": 8}, {"name": "cluster"}])
def test_version_and_name_are_authenticated(copy: RecoveryCopy, change: dict[str, object]) -> None:
    with pytest.raises(SealError, match="forged"):
        unseal(CA, copy.model_copy(update=change))


def test_copy_with_the_fingerprint_of_another_ca_is_forged() -> None:
    forged = with_field(seal(OTHER_CA, VERSION, b"{}"), ca=CA.fingerprint)
    with pytest.raises(SealError, match="forged"):
        unseal(CA, forged)


@pytest.mark.parametrize("part", [slice(0, 8), slice(0, 40), slice(4, None), slice(0, -4)])
def test_truncated_copies_are_refused(copy: RecoveryCopy, part: slice) -> None:
    with pytest.raises(SealError, match="damaged"):
        unseal(CA, with_field(copy, sealed=Envelope.parse(copy.content).sealed[part]))


@pytest.mark.parametrize("content", ["", "{", "[]", "1", '{"format": 1}', '{"format": 1, "ca": 1, "sealed": 2}'])
def test_damaged_envelopes_are_refused(copy: RecoveryCopy, content: str) -> None:
    with pytest.raises(SealError, match="damaged"):
        unseal(CA, copy.model_copy(update={"content": content}))


def test_another_format_is_refused(copy: RecoveryCopy) -> None:
    with pytest.raises(SealError, match="another release"):
        unseal(CA, with_field(copy, format=2))


def test_copies_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    large = seal(CA, VERSION, bytes(100_000))
    monkeypatch.setattr(recovery_seal, "MAX_PLAIN_BYTES", 99_999)
    with pytest.raises(SealError, match="too large"):
        unseal(CA, large)
