"""`shardboard bench scenario`: executes a published benchmark and prints its result tables. The exit status is 0 if the run
completed, and 2 otherwise.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from shardboard.cli.benchmark import RUN_FAILED, SLA_MET, RunError, reply_json
from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES, RunStatus
from shardboard.domain.text import number_text

POLL_SECONDS = 1.0


def print_line(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command


def run(
    api: httpx.Client,
    scenario: str,
    *,
    scale: float | None,
    keep: bool,
    watch: bool,
    say: Callable[[str], None] = print_line,
) -> int:
    """Execute a scenario; without `scale` at the largest scale that fits the cluster. Raises RunError."""
    if scale is None:
        fit = reply_json(api.get(f"/v1/scenarios/{scenario}"))["fit"]
        if not fit["scale"]:
            raise RunError(fit["description"])
        scale = fit["scale"]
    body = {"scenario": scenario, "scale": scale, "keep": keep}
    started = reply_json(api.post("/v1/scenario_runs", json=body))
    say(f"Scenario run {started['uid']}: {started['title']} (document {started['document']}), scale {scale:g}")
    for sentence in started["result"]["deviations"]:
        say(f"  {sentence}")
    ended = _follow(api, started["uid"], watch, say)
    for line in result_lines(ended):
        say(line)
    for sentence in ended["result"]["deviations"]:
        if sentence not in started["result"]["deviations"]:
            say(f"  {sentence}")
    return SLA_MET if ended["status"] == RunStatus.COMPLETED else RUN_FAILED


def _follow(api: httpx.Client, uid: int, watch: bool, say: Callable[[str], None]) -> dict[str, Any]:
    shown = ""
    while True:
        try:
            state: dict[str, Any] = reply_json(api.get(f"/v1/scenario_runs/{uid}"))
        except httpx.TransportError:  # the run continues without this console, so keep watching
            time.sleep(POLL_SECONDS)
            continue
        if state["status"] not in OPEN_STATUSES:
            return state
        line = f"{state['progress']:5.1f}%  {state['step'] or state['status']}"
        if watch and line != shown:
            shown = line
            say(line)
        time.sleep(POLL_SECONDS)


def result_lines(run_state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of a run as lines of text."""
    yield f"Scenario run {run_state['uid']}: {run_state['status']}. {run_state['detail']}".rstrip()
    for table in run_state["result"]["tables"]:
        yield f"  {table['title']}"
        for row in table["rows"]:
            values = (
                f"{column['name']} {_text(row['measured'], index)} (published {_text(row['published'], index)})"
                for index, column in enumerate(table["columns"])
            )
            yield f"    {row['label']}: {', '.join(values)}"
    for figure in run_state["result"]["figures"]:
        yield f"  {figure['name']}: {_text([figure['measured']], 0)} (published {_text([figure['published']], 0)}) {figure['unit']}"


def _text(values: list[Any] | None, index: int) -> str:
    value = values[index] if values else None
    return value if isinstance(value, str) else number_text(value)
