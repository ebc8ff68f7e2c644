import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.agent.contract import APPLICATION_RIGHTS
from shardboard.domain import acl_rules
from shardboard.domain.acl_rules import GUARD, Malformed, for_engine, parse


@pytest.mark.parametrize("built_in", acl_rules.BUILT_IN.values(), ids=lambda each: each.name)
def test_what_is_built_in_is_well_formed(built_in: acl_rules.Acl) -> None:
    assert parse(built_in.acl) == built_in.acl.split()


def test_words_are_those_of_the_engine() -> None:
    acl = "+GET -config|set +@Read ~orders:* %r~ro:* &news:* allkeys (+set ~drafts:*)"
    assert parse(acl) == [
        "+get",
        "-config|set",
        "+@read",
        "~orders:*",
        "%R~ro:*",
        "&news:*",
        "allkeys",
        "(+set ~drafts:*)",
    ]


@pytest.mark.parametrize(
    ("acl", "says"),
    [
        ("", "An ACL must contain at least one rule"),
        ("+@read ()", "must contain at least one rule"),
        ("+@reed ~*", "Unknown command category"),
        ("on +@all", "is not allowed in an ACL"),
        ("+@all >secret", "is not allowed in an ACL"),
        ("+@all #5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8", "is not allowed in an ACL"),
        ("+@all RESET", "is not allowed in an ACL"),
        ("read", "is not a valid rule"),
        ("+get\n~*", "one line of printable"),
        ("(+get (+set ~*))", "is not a valid rule"),
        ("+get)", "is not a valid rule"),
        ("~" + "x" * 5000, "at most"),
    ],
)
def test_what_is_wrong_is_said(acl: str, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        parse(acl)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(Malformed) as told:
        parse("+@all >correct-horse")
    assert "correct" not in str(told.value)


def test_administration_is_nobodys() -> None:
    words = for_engine("+@all ~* (+@all ~x)", all_channels=False)
    assert words == ["+@all", "~*", f"(+@all ~x {' '.join(GUARD)})", *GUARD]


def test_applications_without_a_user_are_kept_from_the_same() -> None:
    assert APPLICATION_RIGHTS.split() == ["+@all", *GUARD]


def test_channels_follow_the_policy_unless_the_list_says() -> None:
    assert for_engine("+@all ~*", all_channels=True)[0] == "allchannels"
    assert "allchannels" not in for_engine("+@all ~* &news", all_channels=True)
    assert "allchannels" not in for_engine("+@all ~* resetchannels", all_channels=True)


@given(st.text())
def test_anything_is_refused_or_ends_with_the_guard(acl: str) -> None:
    try:
        words = for_engine(acl, all_channels=False)
    except Malformed:
        return
    assert tuple(words[-len(GUARD) :]) == GUARD
    assert all(word.endswith(f" {' '.join(GUARD)})") for word in words if word.startswith("("))


def test_what_a_database_disables_comes_last_in_every_selector() -> None:
    told = for_engine("+@all ~* (+get ~x)", all_channels=False, disabled=("-flushall",))
    assert told == ["+@all", "~*", f"(+get ~x {' '.join(GUARD)} -flushall)", *GUARD, "-flushall"]
