"""Tests of the heat map grid: limits on columns and rows, and no lost or split counts."""

import pytest

from shardboard.domain.metrics import intervals, latency_heatmap
from shardboard.domain.metrics.latency_cells import CELLS, cell

NOW = 1_700_000_005
HOUR = 3_600


@pytest.mark.parametrize(
    ("span", "resolution", "step"),
    [
        (300, "1sec", 1),
        (900, "1sec", 3),
        (HOUR, "10sec", 20),
        (6 * HOUR, "10sec", 80),
        (24 * HOUR, "5min", 300),
        (7 * 24 * HOUR, "5min", 2_100),
        (365 * 24 * HOUR, "12hour", 3 * 43_200),
    ],
)
def test_columns_have_the_finest_step_for_300_columns(span: int, resolution: str, step: int) -> None:
    first = intervals.start(NOW - span, step)
    columns = latency_heatmap.columns(first, first + span, 300, NOW)
    assert (columns.resolution.name, columns.step) == (resolution, step)
    assert columns.count <= 300
    assert columns.first <= first < columns.first + step
    assert columns.last - step < first + span <= columns.last


def test_columns_stay_aligned_between_requests() -> None:
    all_columns = latency_heatmap.columns(NOW - HOUR, NOW, 300, NOW)
    newest = latency_heatmap.columns_of(all_columns.step, NOW - 30, NOW, NOW)
    assert newest is not None
    assert newest.resolution.name == "1sec", "recent data is read with the finest resolution"
    assert (newest.first - all_columns.first) % all_columns.step == 0


@pytest.mark.parametrize("step", [7, 25])
def test_steps_finer_than_the_retained_resolution_are_unavailable(step: int) -> None:
    assert latency_heatmap.columns_of(step, NOW - 2 * HOUR, NOW, NOW) is None


def test_extreme_time_ranges_are_limited() -> None:
    assert latency_heatmap.columns(0, NOW, 300, NOW).count <= 300
    assert latency_heatmap.columns(NOW, NOW, 300, NOW).count == 0


@pytest.mark.parametrize(
    ("lowest", "highest", "per_decade"),
    [(100, 900, 20), (50, 40_000, 20), (50, 60_000, 10), (1, 900_000, 10), (1, 59_000_000, 5)],
)
def test_row_height_depends_on_the_value_range(lowest: int, highest: int, per_decade: int) -> None:
    rows = latency_heatmap.rows([cell(lowest), cell(highest)])
    assert rows.per_decade == per_decade
    assert rows.count <= latency_heatmap.MAX_ROWS
    assert rows.bounds[0] <= lowest < rows.bounds[1]
    assert rows.bounds[-2] <= highest < rows.bounds[-1]


def test_row_height_can_be_specified() -> None:
    assert latency_heatmap.rows([cell(1), cell(59_000_000)], 20).count > latency_heatmap.MAX_ROWS
    assert latency_heatmap.rows([], 5).bounds == []


def test_column_contains_every_request_once() -> None:
    latencies = {cell(micros): count for micros, count in ((90, 5), (100, 7), (5_000, 2))}
    grid = latency_heatmap.rows(latencies)
    first, *counts = latency_heatmap.column(latencies, grid)
    assert (first, sum(counts), counts[0], counts[-1]) == (0, 14, 5, 2)
    assert len(counts) == grid.count
    assert latency_heatmap.column({}, grid) == []
    assert CELLS % grid.per_decade == 0
