from datetime import UTC, datetime, timedelta

from shardboard.domain.acknowledgement import Acknowledgement, expired_between

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def acknowledgement(until: datetime | None) -> Acknowledgement:
    return Acknowledgement("ann", NOON, until, "Disk ordered.", "bob")


def test_an_acknowledgement_is_valid_until_its_expiry() -> None:
    assert acknowledgement(None).is_valid(NOON + 1000 * HOUR)
    assert acknowledgement(NOON + HOUR).is_valid(NOON)
    assert not acknowledgement(NOON + HOUR).is_valid(NOON + HOUR)


def test_each_expiry_is_in_exactly_one_interval() -> None:
    expiring = acknowledgement(NOON)
    assert expired_between(expiring, NOON - HOUR, NOON)
    assert not expired_between(expiring, NOON, NOON + HOUR)
    assert not expired_between(expiring, NOON - 2 * HOUR, NOON - HOUR)
    assert not expired_between(acknowledgement(None), NOON, NOON + HOUR)
    assert not expired_between(None, NOON, NOON + HOUR)


def test_stored_acknowledgements_are_read_unchanged() -> None:
    for until in (None, NOON + HOUR):
        assert Acknowledgement.parse(acknowledgement(until).stored()) == acknowledgement(until)
