import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.access.password_rules import validation_error


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("alllowercase", "lacks an uppercase letter, a digit and a special character"),
        ("Alllowercase-", "lacks a digit"),
        ("ALLCAPITALS-1", "lacks a lowercase letter"),
        ("Nothing1Special", "lacks a special character"),
        ("Aaaaa-1", "more than 3 times in a row"),
        ("1-XAnn@example.orgX", "the username"),
        ("1-GRO.ELPMAXE@nnAx", "forwards or backwards"),
    ],
)
def test_weak_passwords_are_rejected_with_a_reason(password: str, expected: str) -> None:
    assert expected in (validation_error(password, "ann@example.org") or "")


@given(
    st.text(string.ascii_uppercase, min_size=1),
    st.text(string.ascii_lowercase, min_size=1),
    st.text(string.digits, min_size=1),
    st.text(string.punctuation, min_size=1),
    st.randoms(use_true_random=False),
)
def test_password_with_all_character_kinds_is_accepted(
    capitals: str, lowercase: str, digits: str, others: str, random: object
) -> None:
    characters = list(capitals + lowercase + digits + others)
    random.shuffle(characters)  # type: ignore[attr-defined]
    password = "".join(characters)
    repeats = any(character * 4 in password for character in set(password))
    assert (validation_error(password, "ab") is not None) == repeats


def test_short_user_name_in_the_password_is_accepted() -> None:
    assert validation_error("Correct-horse-1", "rs") is None
