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
        ({"data_verify": True, "random_data": True}, "data_verify"),
        ({"data_verify": True, "data_offset": 3}, "data_verify"),
        ({"verify_only": True, "command": [{"command": "GET __key__"}]}, "verify_only"),
        ({"command": []}, "command"),
        ({"command": [{"command": "GET __key__", "key_pattern": "X"}]}, "command"),
        ({"key_prefix": "a b"}, "key_prefix"),
    ],
)
def test_invalid_option_is_named(options: dict[str, Any], option: str) -> None:
    error = workload.check(options)
    assert error is not None
    assert error.option == option
    assert error.message.endswith(".")


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
    assert workload.writes({"data_verify": True}) is True
    assert workload.writes({"verify_only": True}) is False
    assert workload.value_bytes({"data_size_range": "10-20"}) == 15
    assert workload.value_bytes({"data_size_list": "100:3,500:1"}) == 200
    assert workload.value_bytes({}) == 32


HOSTILE_TEXTS = [
    "x --out-file=/tmp/x",
    "--data-import=/etc/passwd",
    "-a\nb",
    "1:1 ",
    "1:1\n",
    "\u0661:\u0661",
    "\uff11-\uff12",
    "a\x00b",
    "$(id)",
    "`id`",
    ";id",
    "\x1b[31m",
]
TEXTS = sorted(name for name, option in workload.OPTIONS.items() if option.kind == "text")


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_text_cannot_add_arguments(name: str, text: str) -> None:
    """Each option is one argument, so a value can neither start another option nor end the arguments."""
    if workload.check({name: text}) is None:
        assert name == "key_prefix"
        assert text.isprintable()
        assert " " not in text
        assert workload.arguments({name: text}) == [f"--key-prefix={text}"]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_command_is_one_argument(text: str) -> None:
    options = {"command": [{"command": text}]}
    if workload.check(options) is None:
        assert workload.arguments(options) == [f"--command={text}"]


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, ["x"], float("nan"), float("inf"), "x" * 100_000])
@pytest.mark.parametrize("field", ["command", "ratio", "key_pattern"])
def test_commands_of_wrong_types_are_invalid(field: str, value: object) -> None:
    fault = workload.check({"command": [{"command": "GET __key__", field: value}]})
    if field == "ratio" and value == 1 and not isinstance(value, bool):
        assert fault is None
    else:
        assert fault is not None
        assert fault.option == "command"


def test_options_cannot_name_files_targets_or_credentials() -> None:
    words = {word for name in workload.OPTIONS for word in name.split("_")}
    forbidden = "file import export out server host port uri socket authenticate password tls cert cacert sni"
    assert words & set(forbidden.split()) == set()
