"""`shardboard bench run`: runs a scenario on one or more databases and shows its progress. The exit status reflects the SLA:

0 met, or no limits · 1 not met · 2 the run failed.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from shardboard.domain.benchmarks import find_max_steps
from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES, RunStatus
from shardboard.domain.benchmarks.scenarios import benchmark_scenarios
from shardboard.domain.text import number_text
from shardboard.queries.benchmarks import benchmark_scenarios as library

SLA_MET, SLA_MISSED, RUN_FAILED = 0, 1, 2
POLL_SECONDS = 1.0
OVERLAP_SECONDS = 3
"""Number of seconds that are requested again."""


class RunError(Exception):
    """The run failed. The message is for the user of the command."""


def run(
    api: httpx.Client,
    scenario: str,
    targets: Sequence[str],
    *,
    scale: float,
    watch: bool,
    overwrite: bool,
    say: Callable[[str], None] = lambda text: print(text, flush=True),  # noqa: T201 - a command
) -> int:
    scaled_scenario = benchmark_scenarios.scaled(_scenario(scenario), scale)
    del scaled_scenario["database"]
    databases = reply_json(api.get("/v1/bdbs"))
    uids = {target: _uid_of(target, databases) for target in targets}
    runs = []
    for target in targets:
        body = {**scaled_scenario, "bdb_uid": uids[target], "overwrite": overwrite}
        uid = reply_json(api.post("/v1/benchmarks", json=body))["uid"]
        say(f"Benchmark {uid} on {target}: {scaled_scenario['name']}")
        runs.append(_follow(api, uid, watch, say))
    statuses = [_print_result(each, say) for each in runs]
    if len(runs) > 1:
        _compare(api, [each["uid"] for each in runs], say)
    return max(statuses)


def _uid_of(target: str, databases: Sequence[dict[str, Any]]) -> int:
    """Return the uid of a database, which `target` identifies by uid or name. Raises RunError."""
    found: list[int] = [bdb["uid"] for bdb in databases if str(bdb["uid"]) == target]
    found = found or [bdb["uid"] for bdb in databases if bdb["name"] == target]
    if not found:
        raise RunError(f"database {target} does not exist")
    if len(found) > 1:
        raise RunError(f"several databases have the name {target}; use one of the uids {', '.join(map(str, found))}")
    return found[0]


def _scenario(name: str) -> Mapping[str, Any]:
    path = Path(name)
    try:
        if path.suffix in (".yaml", ".yml") or path.exists():
            return library.parse(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{name} is not readable: {error}") from error
    scenarios = library.list_all()
    if name not in scenarios:
        raise RunError(f"{name} is neither a file nor one of the scenarios {', '.join(scenarios)}")
    return scenarios[name]


def _follow(api: httpx.Client, uid: int, watch: bool, say: Callable[[str], None]) -> dict[str, Any]:
    last_shown: tuple[int, ...] = ()
    while True:
        try:
            run_state: dict[str, Any] = reply_json(api.get(f"/v1/benchmarks/{uid}"))
            if watch and run_state["phase"] is not None:
                step = (run_state["phase"], run_state["repetition"])
                # The last seconds are requested again, because some load nodes report late.
                since_second = max(0, last_shown[2] - OVERLAP_SECONDS) if last_shown[:2] == step else 0
                parameters = {"phase": step[0], "repetition": step[1], "since": since_second}
                for part in reply_json(api.get(f"/v1/benchmarks/{uid}/series", params=parameters))["parts"]:
                    if (last := (*step, part["first"] + len(part["at"]))) != last_shown:
                        last_shown = last
                        say(_line(run_state, part))
        except httpx.TransportError:  # the run continues without the console, so keep watching
            time.sleep(POLL_SECONDS)
            continue
        if run_state["status"] not in OPEN_STATUSES:
            return run_state
        time.sleep(POLL_SECONDS)


def _line(found: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    now = {name: column[-1] for name, column in part["columns"].items()}
    latencies = " ".join(f"{name} {number_text(now[f'{name}_ms'])} ms" for name in ("average", "p99"))
    errors = f", {now['errors']:.0f} errors" if now["errors"] else ""
    name = find_max_steps.step_name(found, part)
    return f"{found['progress']:5.1f}%  {name:<16} {number_text(now['ops'])} ops/s  {latencies}{errors}"


def _print_result(found: Mapping[str, Any], say: Callable[[str], None]) -> int:
    say(f"Benchmark {found['uid']}: {found['status']}. {found['detail']}".rstrip())
    summary = found["summary"] or {}
    for each in summary.get("results", []):
        latencies = f"{number_text(each['average_ms'])} ms on average, P99 {number_text(each['p99_ms'])} ms"
        say(f"  {find_max_steps.step_name(found, each)}: {number_text(each['ops_per_second'])} ops/s, {latencies}")
        for outage in each["outages"]:
            say(f"    shard {outage['shard']} was unavailable for {number_text(outage['seconds'])} s")
    searched = summary.get("find_max")
    if searched:
        say(f"  {searched['text']}")
    verdict = summary.get("verdict", {})
    for limit in verdict.get("limits", []):
        word = "met" if limit["kept"] else "NOT MET"
        say(f"  {limit['name']} {number_text(limit['limit'])}: {number_text(limit['value'])}, {word}")
    if found["status"] != RunStatus.COMPLETED:
        return RUN_FAILED
    if searched and searched["rate"] is None:
        return SLA_MISSED
    return SLA_MISSED if verdict.get("kept") is False else SLA_MET


def _compare(api: httpx.Client, uids: Sequence[int], say: Callable[[str], None]) -> None:
    comparison = reply_json(api.get("/v1/benchmarks/compare", params={"uids": ",".join(map(str, uids))}))
    for figure in comparison["figures"]:
        for run_, each in zip(comparison["runs"][1:], figure["differences"], strict=True):
            if each is not None:
                noise = {True: "outside the noise", False: "within the noise", None: "noise unknown"}
                say(
                    f"  {figure['name']} of {run_['uid']}: {100 * each['ratio']:.1f}% of {uids[0]}'s ({noise[each['stands_out']]})"
                )


def reply_json(reply: httpx.Response) -> Any:
    if reply.status_code != 200:
        try:
            raise RunError(str(reply.json()["description"]))
        except (ValueError, KeyError, TypeError):
            raise RunError(f"the console returned status {reply.status_code}") from None
    return reply.json()
