"""Tests of the arguments of load generators and of the warnings before a run."""

from shardboard.domain.benchmarks import benchmark_tools
from shardboard.domain.benchmarks.benchmark_tools import MEMTIER, OWN


def test_built_in_generator_gets_all_cluster_addresses() -> None:
    options = benchmark_tools.arguments(OWN, "a", 10000, ["a:10000", "b:10000"], {"key_minimum": 0, "clients": 2})
    assert options == [
        "--server=a",
        "--port=10000",
        "--cluster-mode",
        "--seeds=a:10000,b:10000",
        "--key-minimum=0",
        "--clients=2",
    ]


def test_memtier_benchmark_gets_one_address_and_no_zero_values() -> None:
    options = benchmark_tools.arguments(MEMTIER, "a", 10000, ["a:10000", "b:10000"], {"key_minimum": 0, "clients": 2})
    assert options == ["--server=a", "--port=10000", "--cluster-mode", "--clients=2"]
    assert benchmark_tools.arguments(MEMTIER, "a", 10000, [], {}) == ["--server=a", "--port=10000"]


def test_only_the_built_in_generator_supports_a_fixed_rate() -> None:
    assert benchmark_tools.validation_error(OWN, {"rate": 5.0}) is None
    error = benchmark_tools.validation_error(MEMTIER, {"rate": 5.0})
    assert error is not None
    assert error.option == "rate"
    assert benchmark_tools.validation_error(MEMTIER, {"rate": None, "rate_limiting": 5}) is None


def test_only_the_built_in_generator_verifies_values() -> None:
    assert benchmark_tools.validation_error(OWN, {"data_verify": True}) is None
    for name in ("data_verify", "verify_only"):
        error = benchmark_tools.validation_error(MEMTIER, {name: True})
        assert error is not None
        assert error.option == name
    assert benchmark_tools.validation_error(MEMTIER, {"data_verify": False}) is None


def test_only_memtier_benchmark_warns_about_passwords() -> None:
    assert benchmark_tools.preflight_warnings(OWN, password=True) == []
    assert benchmark_tools.preflight_warnings(MEMTIER, password=False) == []
    assert [each.agree for each in benchmark_tools.preflight_warnings(MEMTIER, password=True)] == [
        "password_in_arguments"
    ]
