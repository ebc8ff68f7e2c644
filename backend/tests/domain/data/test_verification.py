"""Tests of the comparison of a test restore with its backup."""

from dataclasses import replace
from typing import Any

import pytest

from shardboard.domain.data.verification import RestoredData, Verdict, judge, judge_checksums

COMPLETE = RestoredData(restored=95, expired=5, unsupported={}, mismatched_slots=0, stored=92)


def test_a_complete_restore_verifies_the_backup() -> None:
    assert judge(COMPLETE, keys=100, expires=10, seconds=41.04) == Verdict(
        True, "95 keys matched the manifest.", 41.0, 95
    )


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"unsupported": {"module type": 3, "bad format": 1}}, "could not be loaded: bad format (1), module type (3)."),
        ({"mismatched_slots": None}, "were not compared"),
        ({"mismatched_slots": 2}, "The keys of 2 slots differ from the manifest."),
        ({"restored": 94}, "The backup has 100 keys; 94 were restored and 5 had expired."),
        ({"expired": 6}, "95 were restored and 6 had expired"),
        ({"stored": 84}, "95 keys were restored, but the database contained 84 afterwards."),
        ({"stored": 96}, "contained 96 afterwards"),
    ],
)
def test_each_difference_fails_the_verification(changes: dict[str, Any], detail: str) -> None:
    verdict = judge(replace(COMPLETE, **changes), keys=100, expires=10, seconds=1)
    assert not verdict.ok
    assert detail in verdict.detail


def test_a_comparison_of_checksums_says_what_was_not_verified() -> None:
    verdict = judge_checksums(3, has_manifest=True, seconds=2)
    assert (verdict.ok, verdict.method, verdict.keys) == (True, "checksums", 0)
    assert verdict.detail == (
        "3 encrypted files and the manifest have the checksums with which they were written. The keys were not decrypted and not "
        "restored, because the console has no private key."
    )
    assert (
        "The manifest exists, but its checksum is unknown." in judge_checksums(1, has_manifest=False, seconds=2).detail
    )
