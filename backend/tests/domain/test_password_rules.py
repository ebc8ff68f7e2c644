import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.password_rules import fault


@pytest.mark.parametrize(
    ("password", "lacks"),
    [
        ("alllowercase", "lacks an uppercase letter, a digit and a special character"),
        ("Alllowercase-", "lacks a digit"),
        ("ALLCAPITALS-1", "lacks a lowercase letter"),
        ("Nothing1Special", "lacks a special character"),
        ("Aaaaa-1", "more than 3 times in a row"),
        ("1-XAnn@example.orgX", "the user name"),
        ("1-GRO.ELPMAXE@nnAx", "forwards or backwards"),
    ],
)
def test_what_is_missing_is_said(password: str, lacks: str) -> None:
    assert lacks in (fault(password, "ann@example.org") or "")


@given(
    st.text(string.ascii_uppercase, min_size=1),
    st.text(string.ascii_lowercase, min_size=1),
    st.text(string.digits, min_size=1),
    st.text(string.punctuation, min_size=1),
    st.randoms(use_true_random=False),
)
def test_one_of_each_kind_is_complex_unless_it_repeats_itself(
    capitals: str, small: str, digits: str, others: str, random: object
) -> None:
    letters = list(capitals + small + digits + others)
    random.shuffle(letters)  # type: ignore[attr-defined]
    password = "".join(letters)
    repeats = any(letter * 4 in password for letter in set(password))
    assert (fault(password, "ab") is not None) == repeats


def test_a_short_name_may_be_in_it() -> None:
    assert fault("Correct-horse-1", "rs") is None
