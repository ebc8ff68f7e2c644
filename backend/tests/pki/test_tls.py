"""Tests of when certificates are due for renewal."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.pki import tls


@pytest.mark.parametrize(("days", "left"), [(tls.SERVER_DAYS, 90), (90, 60), (30, 20)])
def test_certificate_is_due_for_renewal(days: int, left: int) -> None:
    now, second = datetime.now(UTC), timedelta(seconds=1)
    assert not tls.is_due(now + timedelta(days=days), days, now)
    assert not tls.is_due(now + timedelta(days=left) + second, days, now)
    assert tls.is_due(now + timedelta(days=left), days, now)
    assert tls.is_due(now - second, days, now)
    assert tls.is_due(now + timedelta(days=tls.CA_DAYS), days, now), "a certificate of an earlier release"
