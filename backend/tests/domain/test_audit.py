"""The chain of the audit trail: whatever is done to the lines shows."""

from dataclasses import replace
from datetime import timedelta

import pytest
from backend.tests.domain.audit_lines import NOON, Line
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.audit import LONGEST, MOST_FAULTS, Check, Ends, fit, link, seal

KEY, OTHER = "0" * 64, "1" * 64


def chain(lines: list[Line], key: str = KEY) -> list[tuple[Line, str]]:
    links: list[str] = []
    for line in lines:
        links.append(link(key, links[-1] if links else "", line))
    return list(zip(lines, links, strict=True))


def check(stored: list[tuple[Line, str]], ends: Ends, sealed: str | None = None, key: str = KEY) -> list[str]:
    found = Check(key, ends, seal(key, ends) if sealed is None else sealed)
    for line, link_ in stored:
        found.follow(line, link_)
    found.end()
    return found.faults


def whole(count: int = 5) -> tuple[list[tuple[Line, str]], Ends]:
    stored = chain([Line(uid, time=NOON + timedelta(seconds=uid)) for uid in range(1, count + 1)])
    return stored, Ends(first=1, before="", last=count, link=stored[-1][1] if stored else "")


def test_a_whole_trail_has_no_faults() -> None:
    stored, ends = whole()
    assert check(stored, ends) == []
    assert check([], Ends()) == []


def test_the_oldest_lines_may_go() -> None:
    stored, ends = whole()
    assert check(stored[2:], replace(ends, first=3, before=stored[1][1])) == []


@pytest.mark.parametrize(
    "change",
    [
        {"time": NOON},
        {"username": "somebody"},
        {"proof": "session"},
        {"source": "192.0.2.2"},
        {"method": "DELETE"},
        {"path": "/v1/bdbs/1"},
        {"outcome": "failed"},
        {"code": "x"},
        {"detail": "x"},
    ],
)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_every_change_of_a_line_shows(change: dict[str, str], at: int) -> None:
    stored, ends = whole()
    line, known = stored[at]
    stored[at] = (replace(line, **change), known)
    assert check(stored, ends) == [f"Line {at + 1} was changed."]


def test_texts_that_move_from_one_place_to_the_next_are_a_change() -> None:
    assert link(KEY, "", Line(1, code="ab", detail="c")) != link(KEY, "", Line(1, code="a", detail="bc"))


def test_a_changed_line_with_another_link_shows_at_the_next() -> None:
    stored, ends = whole()
    stored[1] = (stored[1][0], "0" * 64)
    assert check(stored, ends) == ["Line 2 was changed.", "Line 3 was changed."]


def test_the_last_line_cannot_have_another_link() -> None:
    stored, ends = whole()
    stored[4] = (stored[4][0], "0" * 64)
    assert check(stored, ends) == ["Line 5 was changed."]


def test_missing_lines_show_wherever_they_were() -> None:
    stored, ends = whole()
    assert check(stored[1:], ends) == ["Line 1 is missing."]
    assert check(stored[:1] + stored[3:], ends) == ["Lines 2 to 3 are missing."]
    assert check(stored[:4], ends) == ["Line 5 is missing."]
    assert check([], ends) == ["Lines 1 to 5 are missing."]


def test_who_lacks_the_key_cannot_move_the_ends() -> None:
    stored, ends = whole()
    shorter = replace(ends, last=4, link=stored[3][1])
    told = "The stored positions of the first and last line were changed."
    assert check(stored[:4], shorter, sealed=seal(KEY, ends)) == [told]
    assert check(stored[:4], shorter, sealed=seal(OTHER, shorter)) == [told]
    assert check(stored[2:], replace(ends, first=3, before=stored[1][1]), sealed=seal(KEY, ends)) == [told]


def test_who_lacks_the_key_cannot_write_another_trail() -> None:
    forged = chain([Line(1), Line(2, username="somebody")], OTHER)
    faults = check(forged, Ends(last=2, link=forged[-1][1]), sealed=seal(OTHER, Ends(last=2, link=forged[-1][1])))
    assert len(faults) == 3


def test_lines_from_outside_the_ends_show() -> None:
    stored, ends = whole()
    assert check(stored, replace(ends, first=3, before=stored[1][1])) == [
        "Line 1 is from before the start of the audit log.",
        "Line 2 is from before the start of the audit log.",
    ]
    beyond = [*stored, (Line(9), "0" * 64)]
    assert check(beyond, ends) == ["Line 9 is from after the end of the audit log."]


def test_a_trail_that_was_begun_anew_says_so() -> None:
    stored = chain([Line(1)])
    lost = Ends(before="lost", last=1, link=link(KEY, "lost", Line(1)))
    told = "The stored positions of the first and last line were removed and created again."
    assert check([(stored[0][0], lost.link)], lost) == [told]


def test_without_its_key_nothing_is_whole() -> None:
    stored, ends = whole()
    found = Check(None, ends, seal(KEY, ends))
    for line, known in stored:
        found.follow(line, known)
    found.end()
    assert found.faults == ["The key of the audit log was removed from the store."]


def test_faults_are_bounded() -> None:
    stored, ends = whole(200)
    assert len(check([(replace(line, code="x"), known) for line, known in stored], ends)) == MOST_FAULTS


@given(st.lists(st.text(max_size=20), min_size=2, max_size=12), st.data())
def test_no_order_but_the_one_that_was_written_is_whole(details: list[str], data: st.DataObject) -> None:
    stored = chain([Line(uid, detail=detail) for uid, detail in enumerate(details, 1)])
    ends = Ends(last=len(stored), link=stored[-1][1])
    assert check(stored, ends) == []
    kept = data.draw(
        st.lists(st.sampled_from(range(len(stored))), unique=True).filter(lambda it: len(it) < len(stored))
    )
    assert check([stored[index] for index in sorted(kept)], ends) != []


@given(st.sampled_from(sorted(LONGEST)), st.text(max_size=3000))
def test_texts_fit_on_a_line(name: str, text: str) -> None:
    shown = fit(name, text)
    assert len(shown) <= LONGEST[name]
    assert shown.isprintable()
    if text.isprintable() and len(text) <= LONGEST[name]:
        assert shown == text
