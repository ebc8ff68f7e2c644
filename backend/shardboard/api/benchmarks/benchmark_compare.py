"""Endpoint that compares benchmark runs, with export."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse, Response

from shardboard.api.benchmarks.benchmark_runs import render_runs
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, database_of_run, require_access_to_each
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.domain.benchmarks import benchmark_compare_report, benchmark_ratios
from shardboard.errors import BadRequest
from shardboard.schemas.benchmarks import benchmark_compare as schema
from shardboard.services.benchmarks import benchmark_runs as service

router = ApiRouter(prefix="/v1", tags=["benchmarks"])

MAX_COMPARED = 24
DATABASE = "database"


@router.get("/benchmarks/compare", response_model=schema.Comparison, responses=error_responses(404))
async def compare_benchmarks(
    viewer: AnyViewer,
    session: ReadSession,
    uids: Annotated[str, Query(description="Comma-separated uids of 2 to 24 runs.")],
    baseline: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="Uid of the baseline. Default: the first run.")
    ] = None,
    group: Annotated[
        benchmark_ratios.Grouping | None,
        Query(
            description="Also return tables of factors with one row for each scenario, phase name, or name of runs. The column of "
            "the baseline is the baseline of each row."
        ),
    ] = None,
    column: Annotated[
        str,
        Query(min_length=1, max_length=64, description="Columns of these tables: `database`, or the key of a tag."),
    ] = DATABASE,
    format_: Annotated[Literal["json", "markdown", "csv"], Query(alias="format")] = "json",
) -> Response:
    """Compare 2 to 24 runs. Differences smaller than the variation between repetitions are not reported as differences."""
    numbers = _parse_uids(uids)
    await require_access_to_each(session, viewer, database_of_run, numbers)
    rows = [await service.get_run(session, number) for number in numbers]
    runs = _with_baseline_first(await render_runs(session, rows), numbers, baseline)
    try:
        ratios = None
        if group is not None:
            ratios = benchmark_ratios.ratios(runs, group=group, column=column, baseline=runs[0]["uid"])
    except benchmark_ratios.RatioError as error:
        raise BadRequest("bad_request", str(error), field="column") from None
    comparison = schema.render(runs, ratios)
    if format_ == "markdown":
        return _file(benchmark_compare_report.markdown(comparison), "text/markdown", "md")
    if format_ == "csv":
        return _file(benchmark_compare_report.table(comparison), "text/csv", "csv")
    return JSONResponse(comparison)


def _parse_uids(uids: str) -> list[int]:
    words = list(dict.fromkeys(word.strip() for word in uids.split(",")))
    if not 2 <= len(words) <= MAX_COMPARED or not all(
        word.isascii() and word.isdigit() and len(word) < 10 for word in words
    ):
        raise BadRequest(
            "bad_request", f"`uids` must be a comma-separated list of 2 to {MAX_COMPARED} runs.", field="uids"
        )
    return [int(word) for word in words]


def _with_baseline_first(
    rendered: Sequence[Mapping[str, Any]], uids: Sequence[int], baseline: int | None
) -> list[Mapping[str, Any]]:
    """Return the runs in the requested order, starting with the baseline."""
    if baseline is not None and baseline not in uids:
        raise BadRequest("bad_request", f"Run {baseline} is not in `uids`. Select one of these runs.", field="baseline")
    runs = {run["uid"]: run for run in rendered}
    return sorted((runs[uid] for uid in uids), key=lambda run: baseline is not None and run["uid"] != baseline)


def _file(text: str, kind: str, ending: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="benchmark-comparison.{ending}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)
