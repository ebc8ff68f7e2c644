"""Tests that the copies of more than half of the nodes contain the console CA, and fewer do not."""

import base64
import json
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardboard.contract.recovery_copies import CLUSTER, CopyVersion, RecoveryCopy
from shardboard.pki.recovery_seal import Envelope, seal, unseal
from shardboard.pki.recovery_shares import SharesError, ca_of, share_ca
from shardboard.pki.secret_sharing import PRIME, SECRET_BYTES, combine, split
from shardboard.pki.signer import CertificateAuthority

CA, OTHER_CA = CertificateAuthority.create("a", 10), CertificateAuthority.create("b", 10)
VERSION = CopyVersion(name=CLUSTER, term=3, counter=7)


def copies(ca: CertificateAuthority, uids: Iterable[int]) -> dict[int, RecoveryCopy]:
    """Return the copies of the cluster that the agents of these nodes get."""
    numbers = list(uids)
    copy, shared = seal(ca, VERSION, b"{}"), share_ca(ca, numbers)
    return {uid: shared.add_to(copy, uid) for uid in numbers}


def envelopes(*found: RecoveryCopy) -> list[Envelope]:
    return [Envelope.parse(each.content) for each in found]


@settings(max_examples=20)
@given(
    secret=st.binary(min_size=SECRET_BYTES, max_size=SECRET_BYTES),
    coefficients=st.lists(st.integers(1, PRIME - 1), min_size=1, max_size=4),
    data=st.data(),
)
def test_exactly_enough_shares_reveal_a_secret(secret: bytes, coefficients: list[int], data: st.DataObject) -> None:
    threshold = len(coefficients) + 1
    numbers = data.draw(st.sets(st.integers(1, 2**31), min_size=threshold, max_size=threshold + 3))
    shares = data.draw(st.permutations(split(secret, coefficients, numbers)))
    assert combine(shares[:threshold]) == secret
    assert combine(shares) == secret
    with suppress(ValueError):
        assert combine(shares[: threshold - 1]) != secret


@pytest.mark.parametrize(("nodes", "needed"), [(2, 2), (3, 2), (4, 3), (5, 3)])
def test_copies_of_more_than_half_of_the_nodes_contain_the_ca(nodes: int, needed: int) -> None:
    kept = copies(CA, range(1, nodes + 1))
    for chosen in combinations(kept.values(), needed):
        assert ca_of(envelopes(*chosen)).stored() == CA.stored()
    for chosen in combinations(kept.values(), needed - 1):
        with pytest.raises(SharesError, match=rf"copies of {needed} nodes are needed, and these are of {needed - 1}"):
            ca_of(envelopes(*chosen))


def test_copy_contains_neither_the_ca_nor_its_key() -> None:
    first, second = copies(CA, (1, 2)).values()
    assert unseal(CA, first) == unseal(CA, second) == b"{}"
    assert first.version == second.version == VERSION
    assert "PRIVATE KEY" not in first.content
    assert b"PRIVATE KEY" not in base64.b64decode(Envelope.parse(first.content).ca_for_shares)


def test_the_same_file_twice_counts_once() -> None:
    kept = copies(CA, (1, 2, 3))
    with pytest.raises(SharesError, match="these are of 1"):
        ca_of(envelopes(kept[1], kept[1]))


def test_copies_that_different_consoles_wrote_fit_together() -> None:
    """The leader changed while it sent copies."""
    assert ca_of(envelopes(copies(CA, (1, 2, 3))[1], copies(CA, (1, 2, 3))[2])).stored() == CA.stored()


def test_copies_from_before_and_after_a_node_joined_do_not_fit_together() -> None:
    with pytest.raises(SharesError, match="copies of"):
        ca_of(envelopes(copies(CA, (1, 2, 3))[1], copies(CA, (1, 2, 3, 4))[2]))


def test_copies_of_two_clusters_do_not_fit_together() -> None:
    with pytest.raises(SharesError, match="copies of 2 nodes are needed"):
        ca_of(envelopes(copies(CA, (1, 2, 3))[1], copies(OTHER_CA, (1, 2, 3))[2]))


@pytest.mark.parametrize("field", ["share", "ca_for_shares"])
def test_forged_copies_are_detected_and_not_used(field: str) -> None:
    kept = copies(CA, (1, 2, 3))
    fields = json.loads(kept[1].content)
    fields[field] = f"{fields[field][:-1]}{'1' if fields[field][-1] != '1' else '2'}"
    forged = kept[1].model_copy(update={"content": json.dumps(fields)})
    assert ca_of(envelopes(forged, kept[2], kept[3])).stored() == CA.stored()
    if field == "share":
        with pytest.raises(SharesError, match="damaged or forged"):
            ca_of(envelopes(forged, kept[2]))


def test_ca_of_a_forger_is_not_used() -> None:
    """Two agents present shares of another CA as those of this one."""
    forged = [
        each.model_copy(update={"content": json.dumps(json.loads(each.content) | {"ca": CA.fingerprint})})
        for each in copies(OTHER_CA, (1, 2)).values()
    ]
    with pytest.raises(SharesError, match="damaged or forged"):
        ca_of(envelopes(*forged))


def test_few_forged_copies_do_not_choose_another_ca() -> None:
    kept, forged = copies(CA, (1, 2, 3, 4, 5)), copies(OTHER_CA, (4, 5))
    assert ca_of(envelopes(forged[4], forged[5], kept[1], kept[2], kept[3])).stored() == CA.stored()


def test_forged_share_does_not_replace_that_of_another_node() -> None:
    kept = copies(CA, (1, 2, 3, 4, 5))
    fields = json.loads(kept[1].content)
    forged = kept[1].model_copy(update={"content": json.dumps(fields | {"share": f"{fields['share'][:-4]}abcd"})})
    assert ca_of(envelopes(kept[1], kept[2], kept[3], forged)).stored() == CA.stored()


@pytest.mark.parametrize("share", ["", "x", "0123456789abcdef 1 1 ab", "0123456789abcdef 2 1 zz"])
def test_copies_without_usable_shares_are_refused(share: str) -> None:
    copy = copies(CA, (1,))[1]
    content = json.dumps(json.loads(copy.content) | {"share": share})
    with pytest.raises(SharesError):
        ca_of(envelopes(copy.model_copy(update={"content": content})))


def test_a_single_node_gets_no_share() -> None:
    assert Envelope.parse(copies(CA, (1,))[1].content).share == ""
