"""Tests of encrypted files, with the program `age` as reference."""

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import suppress
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


PASSPHRASE = "a long passphrase"


@pytest.fixture
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(age, "SCRYPT_LOG_N", 4)


def with_passphrase(content: bytes, passphrase: str = PASSPHRASE) -> bytes:
    return b"".join(age.encrypt_with_passphrase([content], passphrase))


@pytest.mark.usefixtures("little_work")
def test_passphrase_decrypts_its_files() -> None:
    file = with_passphrase(b"content")
    assert b"".join(age.decrypt([file], [IDENTITY], PASSPHRASE)) == b"content"
    for passphrase, message in ((None, "is required"), ("another one", "with this passphrase")):
        with pytest.raises(WrongKey, match=message):
            b"".join(age.decrypt([file], [IDENTITY], passphrase))
    with pytest.raises(WrongKey, match="private key is required"):
        b"".join(age.decrypt([encrypted(b"content")], [], PASSPHRASE))


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b" 4\n", b" 40\n", "work factor of 40"),
        (b" 4\n", b" 0\n", "work factor of 0"),
        (b" 4\n", b" x\n", "header is invalid"),
        (b" 4\n", b" 5\n", "with this passphrase"),
        (b"-> scrypt", b"-> X25519 abc\nabc\n-> scrypt", "header is invalid"),
    ],
)
def test_changed_work_factor_is_rejected(old: bytes, new: bytes, message: str) -> None:
    with pytest.raises(AgeError, match=message):
        b"".join(age.decrypt([with_passphrase(b"content").replace(old, new, 1)], [], PASSPHRASE))


def type_into_age(*arguments: str, file: Path) -> bytes:
    """Run the program `age`, which reads passphrases only from a terminal, and return what it writes to `file`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("age", ["age", *arguments])  # noqa: S606
    output = b""
    with os.fdopen(terminal, "r+b", buffering=0) as screen, suppress(OSError):
        while part := screen.read(1024):
            output += part
            if output.rstrip().endswith(b":"):
                screen.write(f"{PASSPHRASE}\n".encode())
                output = b""
    assert os.waitpid(pid, 0)[1] == 0, output
    return file.read_bytes()


@pytest.mark.slow
def test_age_and_shardboard_read_each_other_with_a_passphrase(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(with_passphrase(b"content"))
    assert type_into_age("-d", "-o", str(target), str(source), file=target) == b"content"
    target.unlink()
    source.write_bytes(b"content")
    file = type_into_age("-p", "-o", str(target), str(source), file=target)
    assert b"".join(age.decrypt([file], [], PASSPHRASE)) == b"content"
