"""The console CA, encrypted with a key that is shared among the nodes: the copies of more than half of them contain it.

All values are derived from the CA and the nodes, so that copies of different versions fit together, whichever console wrote them.
"""

import base64
import binascii
import hashlib
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, islice

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shardboard.contract.recovery_copies import RecoveryCopy
from shardboard.pki.recovery_seal import NONCE_BYTES, Envelope, derive_key, private_key
from shardboard.pki.secret_sharing import PRIME, SECRET_BYTES, Share, combine, split
from shardboard.pki.signer import CertificateAuthority

MIN_NODES = 2
"""With a single node, its file alone would contain the CA."""
COEFFICIENT_BYTES = 80
"""More than the prime has, so that all coefficients are practically equally likely."""
MAX_COMBINATIONS = 1000
"""Attempts to find shares that fit together, if some are damaged or forged."""
_SHARE = re.compile(
    r"(?P<set>[0-9a-f]{16}) (?P<threshold>[0-9]{1,6}) (?P<number>[0-9]{1,10}) (?P<value>[0-9a-f]{1,132})"
)


class SharesError(ValueError):
    """The CA cannot be read from copies. The message continues a sentence that starts with them."""


@dataclass(frozen=True)
class SharedCa:
    """The encrypted CA, and a share of its key for each node."""

    content: str
    shares: Mapping[int, str]

    def add_to(self, copy: RecoveryCopy, node_uid: int) -> RecoveryCopy:
        """Return the copy of the cluster for a node."""
        share = self.shares.get(node_uid)
        if share is None:
            return copy
        envelope = replace(Envelope.parse(copy.content), ca_for_shares=self.content, share=share)
        return copy.model_copy(update={"content": envelope.text()})


def share_ca(ca: CertificateAuthority, node_uids: Collection[int]) -> SharedCa:
    """Return the CA for copies that these nodes keep. There are no shares for a single node."""
    if len(node_uids) < MIN_NODES:
        return SharedCa("", {})
    nonce, ca_key = secrets.token_bytes(NONCE_BYTES), private_key(ca)
    encrypted = nonce + AESGCM(_key(ca_key)).encrypt(nonce, ca.stored(), ca.fingerprint.encode())
    return SharedCa(base64.b64encode(encrypted).decode(), _shares(ca_key, frozenset(node_uids)))


def ca_of(envelopes: Sequence[Envelope]) -> CertificateAuthority:
    """Return the CA in the copies of enough nodes. Raises SharesError."""
    sets: dict[tuple[str, str, int], dict[Share, None]] = defaultdict(dict)
    for envelope in envelopes:
        if (match := _SHARE.fullmatch(envelope.share)) is not None:
            share = Share(int(match["number"]), int(match["value"], 16))
            sets[envelope.ca, match["set"], int(match["threshold"])][share] = None  # a forged one replaces no other
    if not sets:
        raise SharesError(
            "do not contain shares of the console CA, because the cluster had a single node, or an earlier release"
        )
    complete = {found: shares for found, shares in sets.items() if MIN_NODES <= found[2] <= len(shares)}
    if not complete:
        (_, _, threshold), shares = max(sets.items(), key=lambda each: len(each[1]))
        raise SharesError(f"are not sufficient: copies of {threshold} nodes are needed, and these are of {len(shares)}")
    # The largest set first: few forged copies do not choose the CA.
    for (fingerprint, _, threshold), shares in sorted(complete.items(), key=lambda each: -len(each[1])):
        contents = {each.ca_for_shares for each in envelopes if each.ca == fingerprint}
        for key in _keys(shares, threshold):
            if (ca := _decrypt(contents, key, fingerprint)) is not None:
                return ca
    raise SharesError("are damaged or forged. Use those of other nodes")


def _keys(shares: Iterable[Share], threshold: int) -> Iterator[bytes]:
    for chosen in islice(combinations(shares, threshold), MAX_COMBINATIONS):
        try:
            yield combine(chosen)
        except ValueError:
            continue


def _decrypt(contents: Iterable[str], key: bytes, fingerprint: str) -> CertificateAuthority | None:
    for content in contents:
        try:
            raw = base64.b64decode(content, validate=True)
            text = AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], fingerprint.encode())
            ca = CertificateAuthority.read(text, text)
        except (InvalidTag, binascii.Error, ValueError, TypeError, IndexError):
            continue
        if ca.fingerprint == fingerprint:
            return ca
    return None


@lru_cache(maxsize=2)
def _shares(ca_key: bytes, node_uids: frozenset[int]) -> Mapping[int, str]:
    numbers, threshold = sorted(node_uids), len(node_uids) // 2 + 1
    set_id = hashlib.sha256(f"{threshold} {numbers}".encode()).hexdigest()[:16]
    coefficients = [
        int.from_bytes(derive_key(ca_key, f"recovery share {set_id} {index}", COEFFICIENT_BYTES)) % PRIME
        for index in range(1, threshold)
    ]
    found = split(_key(ca_key), coefficients, numbers)
    return {number: f"{set_id} {threshold} {number} {value:x}" for number, value in found}


def _key(ca_key: bytes) -> bytes:
    return derive_key(ca_key, "recovery shares", SECRET_BYTES)
