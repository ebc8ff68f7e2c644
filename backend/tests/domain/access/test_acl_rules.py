import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.contract import APPLICATION_RIGHTS, flush_rules, numbered_database_rules
from shardboard.domain.access import acl_rules
from shardboard.domain.access.acl_rules import GUARD, InvalidAcl, engine_rules, parse, restricted


@pytest.mark.parametrize("built_in", acl_rules.BUILT_IN.values(), ids=lambda each: each.name)
def test_built_in_acls_are_valid(built_in: acl_rules.Acl) -> None:
    assert parse(built_in.acl) == built_in.acl.split()


def test_rules_are_normalized_to_the_engine_syntax() -> None:
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
    ("acl", "expected"),
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
def test_invalid_rules_are_rejected_with_a_reason(acl: str, expected: str) -> None:
    with pytest.raises(InvalidAcl, match=expected):
        parse(acl)


def test_error_does_not_contain_the_password() -> None:
    with pytest.raises(InvalidAcl) as error:
        parse("+@all >correct-horse")
    assert "correct" not in str(error.value)


def test_administration_commands_are_always_denied() -> None:
    words = engine_rules("+@all ~* &* (+@all ~* &*)", all_channels=False)
    assert words == ["+@all", "~*", "&*", f"(+@all ~* &* {' '.join(GUARD)})", *GUARD]


def test_default_user_has_the_same_restrictions() -> None:
    assert APPLICATION_RIGHTS.split() == ["+@all", *GUARD]


def test_numbered_databases_are_denied_as_the_engine_allows_it() -> None:
    assert {numbered_database_rules(version) for version in ("9.1.2", "9.10.0", "10.0.0")} == {("db=0",)}
    assert {numbered_database_rules(version) for version in ("", "8.0.1", "9.0.4")} == {("-select", "-move", "-swapdb")}
    assert restricted(["+@all", "(+get ~x)"], ["db=0"]) == ["+@all", "(+get ~x db=0)", "db=0"]


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (APPLICATION_RIGHTS, True),
        ("+@all ~* -flushall", False),
        ("+@all -@dangerous ~*", False),
        ("+@all -@dangerous +flushall ~*", True),
        ("+get +flushall ~x", True),
        ("allcommands nocommands ~*", False),
        ("+@read ~*", False),
        ("~flushall &flushall +get", False),
    ],
)
def test_users_with_flushall_get_it_for_all_databases(rules: str, allowed: bool) -> None:
    assert flush_rules(rules.split(), "9.1.2") == (("(+flushall alldbs)",) if allowed else ())
    assert flush_rules(rules.split(), "8.0.1") == ()


def test_channels_follow_the_policy_unless_the_rules_name_them() -> None:
    assert engine_rules("+@all ~*", all_channels=True)[0] == "allchannels"
    assert "allchannels" not in engine_rules("+@all ~* &news", all_channels=True)
    assert "allchannels" not in engine_rules("+@all ~* resetchannels", all_channels=True)


@given(st.text())
def test_arbitrary_rules_are_rejected_or_end_with_the_guard(acl: str) -> None:
    try:
        words = engine_rules(acl, all_channels=False)
    except InvalidAcl:
        return
    assert tuple(words[-len(GUARD) :]) == GUARD
    assert all(word.endswith(f" {' '.join(GUARD)})") for word in words if word.startswith("("))


def test_disabled_commands_come_last_in_every_selector() -> None:
    words = engine_rules("+@all ~* &* (+get ~* &*)", all_channels=False, disabled=("-flushall",))
    assert words == ["+@all", "~*", "&*", f"(+get ~* &* {' '.join(GUARD)} -flushall)", *GUARD, "-flushall"]


def denied(acl: str, *, all_channels: bool = True, on_flash: bool = False) -> set[str]:
    """Return the commands that are denied in addition to the guard."""
    words = engine_rules(acl, all_channels=all_channels, on_flash=on_flash)
    return {word[1:] for word in words if word.startswith("-")} - {word[1:] for word in GUARD}


def test_users_of_some_keys_are_denied_commands_on_all_keys() -> None:
    assert {"keys", "scan", "randomkey", "flushall", "function|load"} <= denied("+@all ~tenant:*")
    assert {"keys", "scan", "randomkey", "flushall", "function|load"} <= denied("+@all")
    assert {"keys", "scan", "flushall"} <= denied("+@all ~* resetkeys ~tenant:*")
    assert denied("+@all ~*") == set()
    assert denied("+@all resetkeys allkeys") == set()
    assert denied("+@all %RW~*") == set()
    assert {"keys", "flushall"} & denied("+@all %R~* ~tenant:*") == {"flushall"}
    assert {"keys", "flushall"} & denied("+@all %W~* ~tenant:*") == {"keys"}
    assert denied("~tenant:* +get +client|list") == set(), "other commands are not allowed"
    assert "tier.scan" not in denied("+@all ~tenant:*")
    assert "tier.scan" in denied("+@all ~tenant:*", on_flash=True)


def test_users_of_some_channels_cannot_list_channels() -> None:
    assert denied("+@all ~* &news:*") == {"pubsub|channels", "pubsub|shardchannels"}
    assert denied("+@all ~*", all_channels=False) == {"pubsub|channels", "pubsub|shardchannels"}


def test_named_commands_on_all_keys_are_allowed() -> None:
    assert {"keys", "scan", "function|load", "function|list"} & denied("+@all ~tenant:* +SCAN +function") == {"keys"}
    assert "function|load" not in denied("+@all ~tenant:* +function|load")


def test_selectors_are_restricted_separately() -> None:
    words = engine_rules("+get ~* (+@all ~tenant:*)", all_channels=True)
    [selector] = [word for word in words if word.startswith("(")]
    assert selector.startswith("(+@all ~tenant:* -keys -scan ")
    assert selector.endswith(f" {' '.join(GUARD)})")
    assert "-keys" not in words


def test_users_with_info_may_run_it_only_with_the_section_of_endpoints() -> None:
    hidden = ("-cluster", "-info")
    words = engine_rules("+@all ~* (+get ~x) (+info ~y)", all_channels=True, info_sections=["section"])
    assert tuple(words[-3:]) == (*hidden, "+info|section")
    [other, with_info] = [word for word in words if word.startswith("(")]
    assert other.endswith(" -cluster -info)")
    assert with_info.endswith(" -cluster -info +info|section)")


@pytest.mark.parametrize(
    ("acl", "allowed"),
    [
        ("+@all ~*", True),
        ("allcommands ~*", True),
        ("+@all -@dangerous ~*", False),
        ("+@all -@dangerous +info ~*", True),
        ("+@all -info ~*", False),
        ("+@read ~*", False),
        ("+@all nocommands ~info", False),
    ],
)
def test_info_is_denied_to_users_without_it(acl: str, *, allowed: bool) -> None:
    words = engine_rules(acl, all_channels=True, info_sections=["section"])
    assert ("+info|section" in words) == allowed
