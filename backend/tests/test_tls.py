"""How long certificates are good, and what is read of them."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard import tls


@pytest.mark.parametrize(("days", "left"), [(tls.SERVER_DAYS, 90), (90, 60), (30, 20)])
def test_when_one_is_due(days: int, left: int) -> None:
    now, second = datetime.now(UTC), timedelta(seconds=1)
    assert not tls.is_due(now + timedelta(days=days), days, now)
    assert not tls.is_due(now + timedelta(days=left) + second, days, now)
    assert tls.is_due(now + timedelta(days=left), days, now)
    assert tls.is_due(now - second, days, now)
    assert tls.is_due(now + timedelta(days=tls.CA_DAYS), days, now), "an earlier release made it"
