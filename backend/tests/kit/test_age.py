"""Tests of encrypted files, with the program `age` as reference."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.kit import age, age_keys
from shardboard.kit.age import CHUNK_BYTES, TAG_BYTES, AgeError, DamagedFile, WrongKey

IDENTITY = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
"""Of the specification: 32 times 0x42."""
RECIPIENT = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
OTHER = age_keys.generate_identity()
SIZES = (0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES)


def encrypted(content: bytes, *identities: str) -> bytes:
    return b"".join(age.encrypt([content], [age_keys.recipient_of(each) for each in identities or (IDENTITY,)]))


def decrypted(content: bytes, *identities: str) -> bytes:
    return b"".join(age.decrypt([content], identities or (IDENTITY,)))


def run_age(*arguments: str, content: bytes) -> bytes:
    return subprocess.run(["age", *arguments], input=content, capture_output=True, check=True).stdout


@pytest.fixture
def identity_file(tmp_path: Path) -> str:
    path = tmp_path / "key.txt"
    path.write_text(f"# created: 2026-11-30\n{IDENTITY}\n")
    return str(path)


@pytest.mark.parametrize("size", SIZES)
def test_age_decrypts_files(size: int, identity_file: str) -> None:
    content = os.urandom(size)
    assert run_age("-d", "-i", identity_file, content=encrypted(content, OTHER, IDENTITY)) == content


@pytest.mark.parametrize("size", SIZES)
def test_files_of_age_are_decrypted(size: int) -> None:
    content = os.urandom(size)
    other = age_keys.recipient_of(OTHER)
    assert decrypted(run_age("-r", other, "-r", RECIPIENT, content=content)) == content


def test_age_decrypts_texts_in_armor(identity_file: str) -> None:
    text = age.encrypt_text("ä" * 5_000, [RECIPIENT])
    assert run_age("-d", "-i", identity_file, content=text.encode()).decode() == "ä" * 5_000
    assert age.decrypt_text(text, [OTHER, IDENTITY]) == "ä" * 5_000
    with pytest.raises(DamagedFile):
        age.decrypt_text(text[: len(text) // 2], [IDENTITY])


@given(st.binary(max_size=300), st.lists(st.integers(1, 400), max_size=20))
def test_the_sizes_of_parts_do_not_matter(content: bytes, sizes: list[int]) -> None:
    def parts(whole: bytes) -> Iterator[bytes]:
        for size in sizes:
            yield whole[:size]
            whole = whole[size:]
        yield whole

    file = b"".join(age.encrypt(parts(content), [RECIPIENT]))
    assert b"".join(age.decrypt(parts(file), [IDENTITY])) == content


def test_other_private_keys_are_rejected() -> None:
    with pytest.raises(WrongKey):
        decrypted(encrypted(b"content"), OTHER)


def test_files_that_are_cut_off_are_rejected() -> None:
    file = encrypted(bytes(2 * CHUNK_BYTES))
    header = len(file) - 2 * (CHUNK_BYTES + TAG_BYTES)
    for length in (0, 1, 10, header - 20, header, header + 1, len(file) - CHUNK_BYTES - TAG_BYTES, len(file) - 1):
        with pytest.raises(DamagedFile):
            decrypted(file[:length])


def test_changed_files_are_rejected() -> None:
    file = encrypted(bytes(300))
    for position in range(len(file)):
        changed = bytearray(file)
        changed[position] ^= 1
        with pytest.raises(AgeError):
            decrypted(bytes(changed))


def test_added_and_reordered_chunks_are_rejected() -> None:
    file = encrypted(os.urandom(3 * CHUNK_BYTES))
    size = CHUNK_BYTES + TAG_BYTES
    start, first, second, third = file[: -3 * size], file[-3 * size : -2 * size], file[-2 * size : -size], file[-size:]
    assert len(decrypted(start + first + second + third)) == 3 * CHUNK_BYTES
    for chunks in (second + first + third, first + third, first + second + third + third, first + second + first):
        with pytest.raises(DamagedFile):
            decrypted(start + chunks)


def test_long_headers_are_rejected() -> None:
    with pytest.raises(DamagedFile, match="too long"):
        decrypted(age.VERSION + b"-> X25519 a\n" * 10_000)


def test_keys_have_the_format_of_age() -> None:
    assert age_keys.recipient_of(IDENTITY) == RECIPIENT
    assert age_keys.encode_identity(age_keys.parse_identity(IDENTITY)) == IDENTITY
    assert age_keys.identities_in(f"# a comment\n\n {IDENTITY.lower()} \n{OTHER}\n{OTHER}") == [IDENTITY, OTHER]
    assert age_keys.matching([OTHER, IDENTITY], [RECIPIENT]) == [IDENTITY]


@pytest.mark.parametrize(
    "text",
    ["", "age1", RECIPIENT[:-1], RECIPIENT[:-1] + "q", RECIPIENT.upper(), RECIPIENT + "q", IDENTITY, "ssh-rsa AAAA"],
)
def test_invalid_public_keys_are_rejected(text: str) -> None:
    with pytest.raises(age_keys.InvalidKey) as caught:
        age_keys.parse_recipient(text)
    assert len(text) < 10 or text not in str(caught.value)


@pytest.mark.parametrize("text", [RECIPIENT, IDENTITY[:-1], f"{IDENTITY}\n{IDENTITY}x", "passphrase"])
def test_invalid_private_keys_are_rejected(text: str) -> None:
    with pytest.raises(age_keys.InvalidKey) as caught:
        age_keys.identities_in(text)
    assert text not in str(caught.value)
