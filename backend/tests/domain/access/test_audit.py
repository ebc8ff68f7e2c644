"""Tests of the hash chain of the audit log, which detects every change of its entries."""

from dataclasses import replace
from datetime import timedelta

import pytest
from backend.tests.domain.audit_entries import NOON, AuditEntry
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.access.audit import MAX_FAULTS, MAX_LENGTHS, ChainEnds, ChainVerification, link, seal, truncate

KEY, OTHER = "0" * 64, "1" * 64


def chain(lines: list[AuditEntry], key: str = KEY) -> list[tuple[AuditEntry, str]]:
    links: list[str] = []
    for line in lines:
        links.append(link(key, links[-1] if links else "", line))
    return list(zip(lines, links, strict=True))


def check(
    stored: list[tuple[AuditEntry, str]], ends: ChainEnds, sealed: str | None = None, key: str = KEY
) -> list[str]:
    verification = ChainVerification(key, ends, seal(key, ends) if sealed is None else sealed)
    for line, link_ in stored:
        verification.verify_line(line, link_)
    verification.finish()
    return verification.faults


def intact_log(count: int = 5) -> tuple[list[tuple[AuditEntry, str]], ChainEnds]:
    stored = chain([AuditEntry(uid, time=NOON + timedelta(seconds=uid)) for uid in range(1, count + 1)])
    return stored, ChainEnds(first=1, before="", last=count, link=stored[-1][1] if stored else "")


def test_intact_log_has_no_faults() -> None:
    stored, ends = intact_log()
    assert check(stored, ends) == []
    assert check([], ChainEnds()) == []


def test_oldest_entries_can_be_deleted() -> None:
    stored, ends = intact_log()
    assert check(stored[2:], replace(ends, first=3, before=stored[1][1])) == []


@pytest.mark.parametrize(
    "change",
    [
        {"time": NOON},
        {"username": "somebody"},
        {"auth_method": "session"},
        {"source": "192.0.2.2"},
        {"method": "DELETE"},
        {"path": "/v1/bdbs/1"},
        {"outcome": "failed"},
        {"code": "x"},
        {"detail": "x"},
    ],
)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_every_change_of_an_entry_is_detected(change: dict[str, str], at: int) -> None:
    stored, ends = intact_log()
    line, entry_link = stored[at]
    stored[at] = (replace(line, **change), entry_link)
    assert check(stored, ends) == [f"Record {at + 1} was changed."]


def test_text_moved_between_fields_changes_the_link() -> None:
    assert link(KEY, "", AuditEntry(1, code="ab", detail="c")) != link(KEY, "", AuditEntry(1, code="a", detail="bc"))


def test_forged_link_is_detected_in_the_next_entry() -> None:
    stored, ends = intact_log()
    stored[1] = (stored[1][0], "0" * 64)
    assert check(stored, ends) == ["Record 2 was changed.", "Record 3 was changed."]


def test_forged_link_of_the_last_entry_is_detected() -> None:
    stored, ends = intact_log()
    stored[4] = (stored[4][0], "0" * 64)
    assert check(stored, ends) == ["Record 5 was changed."]


def test_missing_entries_are_detected_at_any_position() -> None:
    stored, ends = intact_log()
    assert check(stored[1:], ends) == ["Record 1 is missing."]
    assert check(stored[:1] + stored[3:], ends) == ["Records 2 to 3 are missing."]
    assert check(stored[:4], ends) == ["Record 5 is missing."]
    assert check([], ends) == ["Records 1 to 5 are missing."]


def test_ends_cannot_be_moved_without_the_key() -> None:
    stored, ends = intact_log()
    shorter = replace(ends, last=4, link=stored[3][1])
    expected = "The stored positions of the first and last record were changed."
    assert check(stored[:4], shorter, sealed=seal(KEY, ends)) == [expected]
    assert check(stored[:4], shorter, sealed=seal(OTHER, shorter)) == [expected]
    assert check(stored[2:], replace(ends, first=3, before=stored[1][1]), sealed=seal(KEY, ends)) == [expected]


def test_log_cannot_be_forged_without_the_key() -> None:
    forged = chain([AuditEntry(1), AuditEntry(2, username="somebody")], OTHER)
    faults = check(
        forged, ChainEnds(last=2, link=forged[-1][1]), sealed=seal(OTHER, ChainEnds(last=2, link=forged[-1][1]))
    )
    assert len(faults) == 3


def test_entries_outside_the_ends_are_detected() -> None:
    stored, ends = intact_log()
    assert check(stored, replace(ends, first=3, before=stored[1][1])) == [
        "Record 1 is from before the start of the audit log.",
        "Record 2 is from before the start of the audit log.",
    ]
    out_of_range = [*stored, (AuditEntry(9), "0" * 64)]
    assert check(out_of_range, ends) == ["Record 9 is from after the end of the audit log."]


def test_restarted_log_is_reported() -> None:
    stored = chain([AuditEntry(1)])
    lost = ChainEnds(before="lost", last=1, link=link(KEY, "lost", AuditEntry(1)))
    expected = "The stored positions of the first and last record were removed and created again."
    assert check([(stored[0][0], lost.link)], lost) == [expected]


def test_missing_key_is_reported() -> None:
    stored, ends = intact_log()
    verification = ChainVerification(None, ends, seal(KEY, ends))
    for line, entry_link in stored:
        verification.verify_line(line, entry_link)
    verification.finish()
    assert verification.faults == ["The key of the audit log was removed from the store."]


def test_number_of_faults_is_limited() -> None:
    stored, ends = intact_log(200)
    assert len(check([(replace(line, code="x"), entry_link) for line, entry_link in stored], ends)) == MAX_FAULTS


@given(st.lists(st.text(max_size=20), min_size=2, max_size=12), st.data())
def test_every_removed_entry_is_detected(details: list[str], data: st.DataObject) -> None:
    stored = chain([AuditEntry(uid, detail=detail) for uid, detail in enumerate(details, 1)])
    ends = ChainEnds(last=len(stored), link=stored[-1][1])
    assert check(stored, ends) == []
    kept_indexes = data.draw(
        st.lists(st.sampled_from(range(len(stored))), unique=True).filter(lambda it: len(it) < len(stored))
    )
    assert check([stored[index] for index in sorted(kept_indexes)], ends) != []


@given(st.sampled_from(sorted(MAX_LENGTHS)), st.text(max_size=3000))
def test_texts_are_shortened_to_one_line(name: str, text: str) -> None:
    shortened = truncate(name, text)
    assert len(shortened) <= MAX_LENGTHS[name]
    assert shortened.isprintable()
    if text.isprintable() and len(text) <= MAX_LENGTHS[name]:
        assert shortened == text
