"""Tests of the validation of workloads and of the arguments of the load generator."""

from typing import Any

import pytest

from shardboard.domain.benchmarks import workload


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"thread": 4}, "thread"),
        ({"threads": 0}, "threads"),
        ({"threads": True}, "threads"),
        ({"threads": "4"}, "threads"),
        ({"threads": 1.5}, "threads"),
        ({"pipeline": 0}, "pipeline"),
        ({"requests": "all"}, "requests"),
        ({"requests": 5, "test_time": 5}, "requests"),
        ({"ratio": "1-10"}, "ratio"),
        ({"ratio": "0:0"}, "ratio"),
        ({"key_pattern": "Q:R"}, "key_pattern"),
        ({"key_pattern": "P:R"}, "key_pattern"),
        ({"key_minimum": 5, "key_maximum": 4}, "key_minimum"),
        ({"key_minimum": 10_000_001}, "key_minimum"),
        ({"key_stddev": 5}, "key_stddev"),
        ({"key_zipf_exp": 1.0}, "key_zipf_exp"),
        ({"key_pattern": "Z:Z", "key_zipf_exp": 5.0}, "key_zipf_exp"),
        ({"data_size": 10, "data_size_range": "1-2"}, "data_size_range"),
        ({"data_size_range": "9-2"}, "data_size_range"),
        ({"clients_start": 1}, "clients_start"),
        ({"rate": 100.0, "rate_limiting": 5}, "rate_limiting"),
        ({"randomize": 1}, "randomize"),
        ({"command": []}, "command"),
        ({"command": [{"command": "GET __key__", "key_pattern": "X"}]}, "command"),
        ({"key_prefix": "a b"}, "key_prefix"),
    ],
)
def test_invalid_option_is_named(options: dict[str, Any], option: str) -> None:
    fault = workload.check(options)
    assert fault is not None
    assert fault.option == option
    assert fault.message.endswith(".")


def test_valid_options_are_converted_to_arguments() -> None:
    assert workload.check({}) is None
    options = {
        "requests": "allkeys",
        "randomize": True,
        "hide_histogram": False,
        "data_size": None,
        "command": [{"command": "SET __key__ __data__", "ratio": 2, "key_pattern": "P"}],
    }
    assert workload.check(options) is None
    assert workload.arguments(options) == [
        "--requests=allkeys",
        "--randomize",
        "--command=SET __key__ __data__",
        "--command-ratio=2",
        "--command-key-pattern=P",
    ]


def test_keys_writes_and_value_size_are_derived() -> None:
    assert workload.keys({"key_minimum": 1, "key_maximum": 100}) == 100
    assert workload.writes({}) is True
    assert workload.writes({"ratio": "0:1"}) is False
    assert workload.value_bytes({"data_size_range": "10-20"}) == 15
    assert workload.value_bytes({"data_size_list": "100:3,500:1"}) == 200
    assert workload.value_bytes({}) == 32
