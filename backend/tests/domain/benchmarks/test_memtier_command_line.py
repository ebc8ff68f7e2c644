"""Tests of parsing pasted command lines, including those of published benchmarks."""

import pytest

from shardboard.domain.benchmarks import workload
from shardboard.domain.benchmarks.memtier_command_line import CommandLineError, parse

PRINTED = [
    (
        (
            "memtier_benchmark -s 10.0.0.1 -p 12000 --hide-histogram --key-maximum=75000000 -n allkeys -d 500"
            " --key-pattern=P:P --ratio=1:0 --threads=4"
        ),
        {"key_maximum": 75_000_000, "requests": "allkeys", "data_size": 500, "key_pattern": "P:P", "ratio": "1:0"},
    ),
    (
        (
            "./memtier_benchmark --server=db --port 12000 -a secret --key-minimum=27250000 --key-maximum=47750000 -n allkeys"
            " --key-pattern=P:P --ratio=0:1"
        ),
        {"key_minimum": 27_250_000, "requests": "allkeys", "ratio": "0:1"},
    ),
    (
        (
            "memtier_benchmark -s db -p 1 --pipeline=11 -c 20 -t 1 -d 500 --key-maximum=75000000 --key-pattern=G:G"
            " --key-stddev=5125000 --ratio=1:1 --distinct-client-seed --randomize --test-time=600 --run-count=2"
        ),
        {"pipeline": 11, "clients": 20, "key_stddev": 5_125_000.0, "randomize": True, "test_time": 600},
    ),
]


@pytest.mark.parametrize(("text", "expected"), PRINTED)
def test_published_command_lines_are_parsed(text: str, expected: dict[str, object]) -> None:
    parsed = parse(text)
    assert {name: parsed.workload[name] for name in expected} == expected
    assert workload.check(parsed.workload) is None
    assert "secret" not in str(parsed)


def test_target_options_are_ignored_and_listed() -> None:
    parsed = parse("memtier_benchmark -s db -p 6379 -a pw --tls --cluster-mode -o out.txt -x 3 -c5")
    assert parsed.workload == {"clients": 5}
    assert parsed.repetitions == 3
    assert parsed.ignored == ["server", "port", "authenticate", "tls", "cluster_mode", "out_file"]


def test_options_after_a_command_belong_to_it() -> None:
    line = "--command='SET __key__ __data__' --command-ratio=2 --command-key-pattern=G --command 'GET __key__'"
    assert parse(line).workload["command"] == [
        {"command": "SET __key__ __data__", "ratio": 2, "key_pattern": "G"},
        {"command": "GET __key__"},
    ]


@pytest.mark.parametrize(
    ("text", "expected_error"),
    [
        ("memtier_benchmark –pipeline=11", "typographic dash. Write --pipeline=11 with two hyphens"),
        ("memtier_benchmark --pipelin=11", "--pipelin is not supported"),
        ("memtier_benchmark --threads", "--threads needs a value"),
        ("memtier_benchmark --threads=four", "--threads needs a whole number"),
        ("memtier_benchmark --randomize=1", "--randomize takes no value"),
        ("memtier_benchmark --command-ratio=1", "must follow the --command"),
        ("memtier_benchmark --command='SET", "unclosed quotation mark"),
        ("memtier_benchmark --threads 4 extra", "extra is not an option"),
        ("memtier_benchmark -Z", "-Z is not supported"),
    ],
)
def test_invalid_command_lines_are_rejected_with_a_reason(text: str, expected_error: str) -> None:
    with pytest.raises(CommandLineError, match=expected_error):
        parse(text)
