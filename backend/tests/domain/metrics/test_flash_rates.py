"""Tests of rates and ratios of shards and databases on flash."""

from math import isnan
from typing import Any

import pytest

from shardboard.contract import TIER_FIELDS
from shardboard.domain.metrics import flash_rates
from shardboard.domain.metrics.flash_rates import FLASH_METRICS


def counters(**values: float) -> dict[str, float]:
    return dict.fromkeys(TIER_FIELDS, 0.0) | values


def second(used: float = 100.0, **increases: float) -> dict[str, float]:
    return flash_rates.row(counters(**increases), counters(), 1, used)


def test_rates_and_ratios_are_computed_from_counters() -> None:
    values = flash_rates.row(
        counters(
            fetch_ram=300,
            fetch_flash=100,
            write_ram=50,
            del_flash=50,
            flash_reads=150,
            flash_read_bytes=6000,
            values_ram=1,
        ),
        counters(fetch_ram=100, flash_read_bytes=2000),
        2,
        used_memory=77,
    )
    assert set(values) == set(FLASH_METRICS)
    assert (values["big_fetch_ram"], values["big_fetch_flash"], values["bigstore_io_read_bytes"]) == (100, 50, 2000)
    assert values["ram_hit_ratio"] == (200 + 50) / (200 + 100 + 50 + 50)
    assert values["fetch_ram_hit_ratio"] == pytest.approx(2 / 3)
    assert (values["write_ram_hit_ratio"], values["del_ram_hit_ratio"], values["values_in_ram"]) == (1, 0, 1)
    assert (values["big_io_ratio_redis"], values["big_io_ratio_flash"], values["used_ram"]) == (200, 75, 77)


def test_ratio_is_unknown_without_traffic() -> None:
    assert isnan(second()["ram_hit_ratio"])
    assert second()["big_fetch_ram"] == 0


@pytest.mark.parametrize(("before", "seconds"), [(None, 1), (counters(), 11), (counters(fetch_ram=5), 1)])
def test_restart_or_long_pause_is_a_gap(before: dict[str, float] | None, seconds: int) -> None:
    values = flash_rates.row(counters(fetch_ram=1, values_flash=9), before, seconds, 1)
    assert all(isnan(values[name]) for name in (*flash_rates.COUNTERS, "ram_hit_ratio", "bigstore_iops"))
    assert values["bigstore_objs_flash"] == 9


def test_database_sums_traffic_of_primaries_and_flash_of_all_shards() -> None:
    flash_values: dict[str, Any] = {
        "flash_used_bytes": 100,
        "flash_file_bytes": 150,
        "flash_reads": 3,
        "values_ram": 10,
    }
    primaries = [
        second(fetch_ram=90, fetch_flash=10, flash_read_p99_us=300, **flash_values),
        second(fetch_ram=0, **flash_values),
    ]
    replicas = [second(fetch_ram=1000, flash_read_p99_us=900, **flash_values)]
    values = flash_rates.database(primaries, replicas)
    assert (values["ram_hit_ratio"], values["bigstore_objs_ram"]) == (0.9, 20)
    assert (values["used_ram"], values["used_bigstore"], values["bigstore_iops"], values["disk_frag_ratio"]) == (
        300,
        300,
        9,
        1.5,
    )
    assert values["flash_read_p99"] == 900


def test_sum_with_an_unknown_part_is_unknown() -> None:
    gap = flash_rates.row(counters(), None, 1, 1)
    assert isnan(flash_rates.database([second(fetch_ram=1), gap], [])["big_fetch_ram"])
    assert flash_rates.disk([gap])["bigstore_iops"] is None
    assert flash_rates.disk([])["bigstore_iops"] is None
    assert flash_rates.disk([second(flash_writes=4)])["bigstore_iops"] == 4
