"""An amount that grows with time and is spent."""

from shardboard.kit.allowance import Allowance


def test_an_allowance_grows_up_to_its_maximum() -> None:
    allowance = Allowance(per_second=2, maximum=10, now=100)
    assert allowance.spend(10, 100)
    assert allowance.left(100) == 0
    assert allowance.spend(4, 102)
    assert not allowance.spend(1, 102)
    assert allowance.left(10_000) == 10
    assert allowance.spend(10, 10_000)


def test_an_overspent_amount_must_grow_back() -> None:
    allowance = Allowance(per_second=1, maximum=10, now=0)
    assert not allowance.spend(15, 0)
    assert not allowance.spend(0, 4)
    assert allowance.spend(0, 5)
