"""Tests of parsing pasted command lines, including those of published benchmarks."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shardboard.domain.benchmarks import workload
from shardboard.domain.benchmarks.memtier_command_line import CommandLineError, parse

PRINTED = [
    (
        (
            "./memtier_benchmark -s -p 12320 –pipeline=20 -c 10 -t 20 -d 1000 –key-maximum=42949673 –key-pattern=G:G"
            " –key-stddev=1177484 –ratio=1:1 –distinct-client-seed –randomize –test-time=120 –run-count=1"
            " –hide-histogram"
        ),
        {"pipeline": 20, "clients": 10, "threads": 20, "data_size": 1000, "key_stddev": 1_177_484.0, "test_time": 120},
    ),
    (
        (
            "$ memtier_benchmark -s your-nodes-fully-qualified-name-or-ip-endpoint -p your-endpoint-port --hide-histogram"
            " --key-maximum=75000000 -n allkeys -d 500 --key-pattern=P:P --ratio=1:0"
        ),
        {"key_maximum": 75_000_000, "requests": "allkeys", "data_size": 500, "key_pattern": "P:P", "ratio": "1:0"},
    ),
    (
        (
            "$ memtier_benchmark -s your-nodes-fully-qualified-name-or-ip-endpoint -p your-endpoint-port --hide-histogram"
            " --key-minimum=27250000 --key-maximum=47750000 -n allkeys --key-pattern=P:P --ratio=0:1"
        ),
        {"key_minimum": 27_250_000, "key_maximum": 47_750_000, "requests": "allkeys", "ratio": "0:1"},
    ),
    (
        (
            "$ memtier_benchmark -s your-nodes-fully-qualified-name-or-ip-endpoint -p your-endpoint-port  --pipeline=11 -c 20"
            " -t 1 -d 500 --key-maximum=75000000 --key-pattern=G:G --key-stddev=5125000 --ratio=1:1 --distinct-client-seed"
            " --randomize --test-time=600 --run-count=1 --out-file=test.out"
        ),
        {"pipeline": 11, "clients": 20, "threads": 1, "key_stddev": 5_125_000.0, "test_time": 600, "randomize": True},
    ),
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
    ("memtier_benchmark -n allkeys --data-verify -d 100", {"data_verify": True, "data_size": 100}),
    ("memtier_benchmark –verify-only", {"verify_only": True}),
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
        ("memtier_benchmark --pipelin=11", "--pipelin is not supported"),
        ("memtier_benchmark --threads", "--threads needs a value"),
        ("memtier_benchmark --threads=four", "--threads needs a whole number"),
        ("memtier_benchmark --randomize=1", "--randomize takes no value"),
        ("memtier_benchmark --command-ratio=1", "must follow the --command"),
        ("memtier_benchmark --command='SET", "A quotation mark is not closed"),
        ("memtier_benchmark --threads 4 extra", "extra is not an option"),
        ("memtier_benchmark -Z", "-Z is not supported"),
        ("", "Paste a command line of memtier_benchmark"),
        (" $ ", "Paste a command line of memtier_benchmark"),
        ("ping 127.0.0.1", "ping is not memtier_benchmark"),
        ("memtier_benchmark --threads --clients=5", "--threads needs a value"),
        ("memtier_benchmark -c 5; memtier_benchmark -c 6", "several commands"),
        ("memtier_benchmark -c 5\nmemtier_benchmark -c 6", "several commands"),
        (
            "redis-benchmark -t set,get -n 100",
            "redis-benchmark has other options .* No line creates exactly the same load",
        ),
    ],
)
def test_invalid_command_lines_are_rejected_with_a_reason(text: str, expected_error: str) -> None:
    with pytest.raises(CommandLineError, match=expected_error):
        parse(text)


def test_all_errors_are_reported() -> None:
    with pytest.raises(CommandLineError) as caught:
        parse("memtier_benchmark --bogus --threads=four --clients=5")
    assert [error.option for error in caught.value.errors] == ["command_line", "threads"]


@pytest.mark.parametrize(
    ("text", "workload", "corrections"),
    [
        ("$ memtier_benchmark -c 5", {"clients": 5}, []),
        ("–c 5 —pipeline=2", {"clients": 5, "pipeline": 2}, ["Read –c as -c.", "Read —pipeline as --pipeline."]),
        ("--key–maximum=9", {"key_maximum": 9}, ["Read --key–maximum as --key-maximum."]),
        ("-pipeline=3", {"pipeline": 3}, ["Read -pipeline as --pipeline."]),
        ("--data-size-range=10–20", {"data_size_range": "10-20"}, []),
        ("memtier_benchmark -s -p -c 5", {"clients": 5}, ["--server has no value", "--port has no value"]),
        ("--pipeline=2 -c 5", {"pipeline": 2, "clients": 5}, ["special spaces"]),
        ("--key-prefix=“my key”", {"key_prefix": "my key"}, ["typographic quotation marks"]),
        ("memtier_benchmark \\\n  -c 5 \\\r\n -t 2", {"clients": 5, "threads": 2}, []),
        ("memtier_benchmark\n  -c 5\n  -t 2", {"clients": 5, "threads": 2}, []),
        (
            "sudo -u me nohup ./memtier_benchmark -c 5 > out.txt 2>&1 &",
            {"clients": 5},
            ["before the program", "redirection"],
        ),
        ("memtier_benchmark -t 2 > out.txt", {"threads": 2}, ["redirection"]),
        ("memtier_benchmark -c 5 | tee x", {"clients": 5}, ["after the command"]),
        ("docker run --rm -e A=secret redislabs/memtier_benchmark:1.4 -c 5", {"clients": 5}, ["before the program"]),
        ("docker run x/memtier_benchmark memtier_benchmark -c 5", {"clients": 5}, ["before the program"]),
        ("--command='SET __key__ >;|&'", {"command": [{"command": "SET __key__ >;|&"}]}, []),
    ],
)
def test_text_of_documents_and_shells_is_corrected(
    text: str, workload: dict[str, object], corrections: list[str]
) -> None:
    parsed = parse(text)
    assert parsed.workload == workload
    for expected in corrections:
        assert any(expected in correction for correction in parsed.corrections), parsed.corrections
    assert "secret" not in str(parsed)


@pytest.mark.parametrize("program", ["redis-benchmark", "/usr/bin/valkey-benchmark"])
def test_a_line_of_another_program_is_translated_where_the_load_is_equal(program: str) -> None:
    with pytest.raises(CommandLineError) as caught:
        parse(f"{program} -h db -p 6379 -t set -n 1000 -c 10 -d 64 -r 500 -P 4 -q")
    translated = parse(caught.value.suggestion).workload
    assert workload_of(translated) == (10, 100, 64, 4, "1:0", 0, 499)
    for unequal in ("-t set,get -r 5", "-t lpush -r 5", "-t set", "-t set -r 5 -n 101 -c 10", "-t set -r 5 --bogus"):
        with pytest.raises(CommandLineError) as caught:
            parse(f"{program} {unequal}")
        assert caught.value.suggestion == ""


def workload_of(options: dict[str, object]) -> tuple[object, ...]:
    names = ("clients", "requests", "data_size", "pipeline", "ratio", "key_minimum", "key_maximum")
    return tuple(options[name] for name in names)


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from([*"-–—=\\'\"<>|&; \n", "memtier_benchmark", "-s", "--ratio=1:1"])).map("".join)
)
@example("''")
@example("$ '' -s")
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with contextlib.suppress(CommandLineError):
        parse(text)
