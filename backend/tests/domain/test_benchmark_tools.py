"""What a run's load generator is told, and what is said about it before."""

from shardboard.domain import benchmark_tools
from shardboard.domain.benchmark_tools import MEMTIER, OWN


def test_ours_is_told_all_addresses_of_an_aware_database() -> None:
    told = benchmark_tools.arguments(OWN, "a", 10000, ["a", "b"], {"key_minimum": 0, "clients": 2})
    assert told == [
        "--server=a",
        "--port=10000",
        "--cluster-mode",
        "--seeds=a:10000,b:10000",
        "--key-minimum=0",
        "--clients=2",
    ]


def test_memtier_benchmark_knows_one_address_and_no_zero() -> None:
    told = benchmark_tools.arguments(MEMTIER, "a", 10000, ["a", "b"], {"key_minimum": 0, "clients": 2})
    assert told == ["--server=a", "--port=10000", "--cluster-mode", "--clients=2"]
    assert benchmark_tools.arguments(MEMTIER, "a", 10000, [], {}) == ["--server=a", "--port=10000"]


def test_only_ours_has_a_schedule() -> None:
    assert benchmark_tools.fault(OWN, {"rate": 5.0}) is None
    wrong = benchmark_tools.fault(MEMTIER, {"rate": 5.0})
    assert wrong is not None
    assert wrong.option == "rate"
    assert benchmark_tools.fault(MEMTIER, {"rate": None, "rate_limiting": 5}) is None


def test_a_password_is_a_concern_of_memtier_benchmark_alone() -> None:
    assert benchmark_tools.concerns(OWN, password=True) == []
    assert benchmark_tools.concerns(MEMTIER, password=False) == []
    assert [each.agree for each in benchmark_tools.concerns(MEMTIER, password=True)] == ["password_in_arguments"]
